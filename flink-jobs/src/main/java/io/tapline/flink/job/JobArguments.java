package io.tapline.flink.job;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import io.tapline.flink.RedisEndpoint;
import io.tapline.flink.SaslMechanism;
import io.tapline.flink.TlsFiles;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The job's command line. */
record JobArguments(Plan plan, Endpoints endpoints, JobOptions options) {
  static final String USAGE =
      """
      usage: --plan PLAN --brokers HOST:PORT[,HOST:PORT] --redis HOST:PORT|unix:/PATH [options]
        --plan PLAN                 the plan as JSON, as @FILE or in base64
        --parallelism N             subtasks of source and panes (1)
        --checkpoint-interval MS    time between checkpoints; 0 for none (1000)
        --checkpoint-dir URI        where to store checkpoints: file:///... (the job manager's memory)
        --restart-attempts N        consecutive restarts before the job gives up (10)
        --max-groups N              groups kept per processor (1048576)
        --max-flows N               open connections kept per processor and partition (262144)
        --max-rows N                rows written per window (10000)
        --windows-kept N            window results kept in the query's stream (4096)
        --silent-after MS           max time that windows wait for a silent monitor (0: no limit)
        --kafka-tls CA,CERT,KEY     use TLS with Kafka; PEM files, at these paths on every task manager (no TLS)
        --redis-tls CA,CERT,KEY     the same for Redis
        --kafka-login USER:PASSWORD the job's Kafka login (none)
        --kafka-sasl MECHANISM      how that user logs in: SCRAM-SHA-256 or PLAIN (SCRAM-SHA-256)
        --redis-login USER:PASSWORD the job's Redis login; the functions must already be loaded (none: the job loads them)
        --results-topic TOPIC       Kafka topic to which each window is also written as JSON (none)
      """;

  private static final Set<String> NAMES =
      Set.of(
          "plan",
          "brokers",
          "redis",
          "parallelism",
          "checkpoint-interval",
          "checkpoint-dir",
          "restart-attempts",
          "max-groups",
          "max-flows",
          "max-rows",
          "windows-kept",
          "silent-after",
          "kafka-tls",
          "redis-tls",
          "kafka-login",
          "kafka-sasl",
          "redis-login",
          "results-topic");

  /**
   * Parses the command line.
   *
   * @throws IllegalArgumentException if an argument is unknown, missing or invalid
   */
  static JobArguments parse(String... args) {
    Map<String, String> values = values(args);
    JobOptions defaults = JobOptions.defaults();
    JobOptions options =
        new JobOptions(
            number(values, "parallelism", defaults.parallelism()),
            Duration.ofMillis(
                number(
                    values, "checkpoint-interval", (int) defaults.checkpointInterval().toMillis())),
            values.getOrDefault("checkpoint-dir", defaults.checkpointDirectory()),
            number(values, "restart-attempts", defaults.restartAttempts()),
            number(values, "max-groups", defaults.maxGroups()),
            number(values, "max-flows", defaults.maxFlows()),
            number(values, "max-rows", defaults.maxRows()),
            number(values, "windows-kept", defaults.windowsKept()),
            Duration.ofMillis(
                number(values, "silent-after", (int) defaults.silentAfter().toMillis())));
    KafkaEndpoint kafka =
        new KafkaEndpoint(
            required(values, "brokers"),
            TlsFiles.parse(values.getOrDefault("kafka-tls", "")),
            Login.parse(values.getOrDefault("kafka-login", "")),
            SaslMechanism.of(values.getOrDefault("kafka-sasl", "SCRAM-SHA-256")));
    RedisEndpoint redis =
        RedisEndpoint.parse(required(values, "redis"))
            .withTls(TlsFiles.parse(values.getOrDefault("redis-tls", "")))
            .withLogin(Login.parse(values.getOrDefault("redis-login", "")));
    Endpoints endpoints = new Endpoints(kafka, redis, values.getOrDefault("results-topic", ""));
    return new JobArguments(plan(required(values, "plan")), endpoints, options);
  }

  /** Returns arguments for {@link #parse}. */
  static List<String> format(Plan plan, Endpoints endpoints, JobOptions options) {
    Map<String, String> values = new TreeMap<>();
    byte[] json = Plans.toJson(plan).getBytes(StandardCharsets.UTF_8);
    values.put("plan", Base64.getEncoder().encodeToString(json));
    values.put("brokers", endpoints.kafka().brokers());
    values.put("redis", endpoints.redis().address());
    values.put("parallelism", Integer.toString(options.parallelism()));
    values.put("checkpoint-interval", Long.toString(options.checkpointInterval().toMillis()));
    values.put("checkpoint-dir", options.checkpointDirectory());
    values.put("restart-attempts", Integer.toString(options.restartAttempts()));
    values.put("max-groups", Integer.toString(options.maxGroups()));
    values.put("max-flows", Integer.toString(options.maxFlows()));
    values.put("max-rows", Integer.toString(options.maxRows()));
    values.put("windows-kept", Integer.toString(options.windowsKept()));
    values.put("silent-after", Long.toString(options.silentAfter().toMillis()));
    values.put("kafka-tls", endpoints.kafka().tls().format());
    values.put("redis-tls", endpoints.redis().tls().format());
    values.put("kafka-login", endpoints.kafka().login().format());
    values.put("kafka-sasl", endpoints.kafka().mechanism().text());
    values.put("redis-login", endpoints.redis().login().format());
    values.put("results-topic", endpoints.resultsTopic());
    List<String> arguments = new ArrayList<>();
    values.values().removeIf(String::isEmpty);
    values.forEach((name, value) -> arguments.addAll(List.of("--" + name, value)));
    return arguments;
  }

  private static Map<String, String> values(String[] args) {
    Map<String, String> values = new HashMap<>();
    for (int i = 0; i < args.length; i += 2) {
      String name = args[i].startsWith("--") ? args[i].substring(2) : "";
      if (!NAMES.contains(name)) {
        throw new IllegalArgumentException("unknown argument '" + args[i] + "'");
      }
      if (i + 1 == args.length) {
        throw new IllegalArgumentException(args[i] + " needs a value");
      }
      values.put(name, args[i + 1]);
    }
    return values;
  }

  private static String required(Map<String, String> values, String name) {
    String value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException("--" + name + " is missing");
    }
    return value;
  }

  private static int number(Map<String, String> values, String name, int defaultValue) {
    String value = values.get(name);
    try {
      return value == null ? defaultValue : Integer.parseInt(value);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("--" + name + " is '" + value + "', not a whole number");
    }
  }

  private static Plan plan(String text) {
    try {
      Plan.Builder plan = Plan.newBuilder();
      JsonFormat.parser().merge(json(text), plan);
      return plan.build();
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException("--plan is not a plan: " + e.getMessage());
    } catch (IOException e) {
      throw new IllegalArgumentException("--plan can't be read: " + e.getMessage());
    }
  }

  /**
   * Returns the JSON of a plan that is given as {@code @FILE}, JSON or base64. Shells and REST
   * clients never split base64.
   */
  private static String json(String text) throws IOException {
    if (text.startsWith("@")) {
      return Files.readString(Path.of(text.substring(1)));
    }
    if (text.stripLeading().startsWith("{")) {
      return text;
    }
    try {
      return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("--plan is neither JSON, nor @FILE, nor base64");
    }
  }
}
