package io.tapline.flink;

import java.io.Serializable;

/**
 * Where a job reads tuples and writes results.
 *
 * @param kafka where its tuples are
 * @param redis where its results go
 * @param resultsTopic Kafka topic that gets each window, too; empty for none
 */
public record Endpoints(KafkaEndpoint kafka, RedisEndpoint redis, String resultsTopic)
    implements Serializable {
  public Endpoints(KafkaEndpoint kafka, RedisEndpoint redis) {
    this(kafka, redis, "");
  }

  /** Services that take plaintext connections from anyone; see {@link RedisEndpoint#parse}. */
  public static Endpoints open(String brokers, String redis) {
    return new Endpoints(KafkaEndpoint.open(brokers), RedisEndpoint.parse(redis));
  }

  public Endpoints withResultsTopic(String topic) {
    return new Endpoints(kafka, redis, topic);
  }

  public Endpoints withLogins(Login ofKafka, Login ofRedis) {
    return new Endpoints(kafka.withLogin(ofKafka), redis.withLogin(ofRedis), resultsTopic);
  }
}
