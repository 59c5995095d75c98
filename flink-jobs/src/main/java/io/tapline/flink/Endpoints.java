package io.tapline.flink;

import java.io.Serializable;
import java.util.Objects;

/**
 * Where a job reads tuples and writes results.
 *
 * @param brokers Kafka bootstrap servers, {@code host:port[,host:port]}
 * @param redisHost host of the Redis server
 * @param redisPort its port
 * @param resultsTopic Kafka topic that gets each window, too; empty for none
 * @param kafkaTls how Kafka is spoken to; its files are there for task managers at the same paths
 * @param redisTls how Redis is
 */
public record Endpoints(
    String brokers,
    String redisHost,
    int redisPort,
    String resultsTopic,
    TlsFiles kafkaTls,
    TlsFiles redisTls)
    implements Serializable {
  public Endpoints(String brokers, String redisHost, int redisPort) {
    this(brokers, redisHost, redisPort, "", TlsFiles.NONE, TlsFiles.NONE);
  }

  public Endpoints {
    Objects.requireNonNull(brokers, "brokers");
    Objects.requireNonNull(redisHost, "redisHost");
    if (redisPort < 1 || redisPort > 65_535) {
      throw new IllegalArgumentException("redis port " + redisPort + " is not in 1..65535");
    }
  }

  public Endpoints withResultsTopic(String topic) {
    return new Endpoints(brokers, redisHost, redisPort, topic, kafkaTls, redisTls);
  }

  public Endpoints withTls(TlsFiles kafka, TlsFiles redis) {
    return new Endpoints(brokers, redisHost, redisPort, resultsTopic, kafka, redis);
  }

  /** Reads {@code host:port}, {@code [v6]:port} or a host alone (port 6379) for Redis. */
  public static Endpoints of(String brokers, String redis) {
    int colon = redis.lastIndexOf(':');
    boolean hasPort = colon > redis.lastIndexOf(']') && colon > 0;
    String host = hasPort ? redis.substring(0, colon) : redis;
    return new Endpoints(brokers, unbracketed(host), hasPort ? port(redis, colon) : 6379);
  }

  private static int port(String redis, int colon) {
    try {
      return Integer.parseInt(redis.substring(colon + 1));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("redis address '" + redis + "' is not host:port");
    }
  }

  private static String unbracketed(String host) {
    return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
  }
}
