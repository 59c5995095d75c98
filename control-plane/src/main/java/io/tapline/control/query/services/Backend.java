package io.tapline.control.query.services;

import io.tapline.control.JobKey;
import io.tapline.flink.Endpoints;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import java.nio.file.Path;
import java.util.List;

/**
 * The services that queries run on.
 *
 * @param endpoints Kafka and Redis
 * @param hostBrokers addresses of Kafka's brokers, as other hosts reach them
 * @param access Kafka logins of jobs and monitors
 * @param flink the clusters that jobs run on
 * @param monitor the monitor program
 * @param plugins shared objects with parsers, for the monitor to load
 * @param hashKeyFile file with the monitor's hash keys
 * @param folder folder for plan files
 * @param topics retention of topics
 * @param maxQueries maximum number of concurrent queries
 * @param jobKey key from which job passwords are derived
 */
public record Backend(
    Endpoints endpoints,
    String hostBrokers,
    KafkaAccess access,
    JobClusters flink,
    Path monitor,
    List<Path> plugins,
    Path hashKeyFile,
    Path folder,
    TopicPolicy topics,
    int maxQueries,
    JobKey jobKey) {
  /**
   * Returns the Kafka and Redis endpoints for a query's job, with the job's logins.
   *
   * @param atRedis the job's Redis login
   */
  public Endpoints jobEndpoints(String query, Login atRedis) {
    KafkaEndpoint kafka = access.jobs().withLogin(access.jobLogin(query));
    return new Endpoints(kafka, endpoints.redis().withLogin(atRedis), endpoints.resultsTopic());
  }
}
