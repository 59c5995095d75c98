package io.tapline.flink.support;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the servers of a deployment hold. */
public final class Usage {
  private Usage() {}

  /** Figures by name; sizes in KiB. */
  public static Map<String, Long> of(Deployment deployment, Path directory) throws Exception {
    Map<String, Long> usage = new LinkedHashMap<>();
    deployment.cluster.collectGarbage();
    FlinkRest rest = deployment.cluster.rest();
    add(usage, "jm", rest, "/jobmanager/metrics");
    String taskManager = rest.get("/taskmanagers").at("/taskmanagers/0/id").asText();
    add(usage, "tm", rest, "/taskmanagers/" + taskManager + "/metrics");
    usage.put("topics", (long) deployment.broker.client().topics().size());
    usage.put("keys", (long) deployment.redis.keys("*").size());
    usage.put("ha_files", files(directory.resolve("ha")));
    usage.put("flink_files", files(directory.resolve("flink")));
    usage.put("checkpoint_files", files(directory.resolve("checkpoints")));
    usage.put("kafka_files", files(directory.resolve("kafka")));
    return usage;
  }

  private static void add(Map<String, Long> usage, String who, FlinkRest rest, String path)
      throws Exception {
    JsonNode metrics =
        rest.get(
            path
                + "?get=Status.JVM.Memory.Metaspace.Used,Status.JVM.Threads.Count,"
                + "Status.JVM.ClassLoader.ClassesLoaded,Status.JVM.ClassLoader.ClassesUnloaded");
    Map<String, Long> values = new LinkedHashMap<>();
    metrics.forEach(m -> values.put(m.path("id").asText(), m.path("value").asLong()));
    usage.put(who + "_metaspace_kib", values.get("Status.JVM.Memory.Metaspace.Used") / 1024);
    usage.put(who + "_threads", values.get("Status.JVM.Threads.Count"));
    usage.put(
        who + "_classes",
        values.get("Status.JVM.ClassLoader.ClassesLoaded")
            - values.get("Status.JVM.ClassLoader.ClassesUnloaded"));
  }

  private static long files(Path directory) {
    try (Stream<Path> all = Files.walk(directory)) {
      return all.count();
    } catch (IOException | UncheckedIOException vanished) {
      return Files.exists(directory) ? files(directory) : 0;
    }
  }

  /** The latest of the samples, the first with its header. */
  public static String line(int queries, List<Map<String, Long>> samples) {
    Map<String, Long> last = samples.get(samples.size() - 1);
    String row = last.values().stream().map("%16d"::formatted).collect(Collectors.joining());
    String header = last.keySet().stream().map("%16s"::formatted).collect(Collectors.joining());
    return (samples.size() == 1 ? " queries" + header + "\n" : "") + "%8d".formatted(queries) + row;
  }

  /**
   * Figures whose least value in the last fifth exceeds that of the second by a tenth: of what is
   * kept, that is, for Flink tells of threads as they were up to ten seconds ago, within a job.
   */
  public static List<String> grown(List<Map<String, Long>> samples) {
    int fifth = samples.size() / 5;
    return samples.get(0).keySet().stream()
        .filter(
            name ->
                least(samples.subList(samples.size() - fifth, samples.size()), name)
                    > 1.1 * least(samples.subList(fifth, 2 * fifth), name) + 2)
        .toList();
  }

  private static long least(List<Map<String, Long>> samples, String name) {
    return samples.stream().mapToLong(sample -> sample.get(name)).min().orElseThrow();
  }
}
