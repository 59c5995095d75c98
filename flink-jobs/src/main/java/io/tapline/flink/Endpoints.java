package io.tapline.flink;

import java.io.Serializable;

/**
 * The services from which a job reads tuples and to which it writes results.
 *
 * @param kafka Kafka cluster that stores the tuples
 * @param redis Redis server that receives the results
 * @param resultsTopic Kafka topic that also receives each window; empty for none
 */
public record Endpoints(KafkaEndpoint kafka, RedisEndpoint redis, String resultsTopic)
    implements Serializable {
  public Endpoints(KafkaEndpoint kafka, RedisEndpoint redis) {
    this(kafka, redis, "");
  }

  /**
   * Returns endpoints of services that accept plaintext connections from any client; see {@link
   * RedisEndpoint#parse}.
   */
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
