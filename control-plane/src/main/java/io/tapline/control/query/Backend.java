package io.tapline.control.query;

import io.tapline.control.JobKey;
import io.tapline.flink.Endpoints;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import java.nio.file.Path;
import java.util.List;

/**
 * What queries run on.
 *
 * @param endpoints Kafka and Redis
 * @param hostBrokers Kafka, as other hosts reach it
 * @param access the logins of jobs and monitors at Kafka
 * @param flink where jobs run
 * @param monitor the monitor program
 * @param plugins shared objects with parsers that it loads
 * @param hashKeyFile the keys of hashes that it is given
 * @param folder for plan files
 * @param topics how long they are there
 * @param mostQueries that run at once
 * @param jobKey from which the passwords of jobs follow
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
    int mostQueries,
    JobKey jobKey) {
  /**
   * The same services as a query's job reaches them: with logins of its own.
   *
   * @param atRedis its login there
   */
  Endpoints jobEndpoints(String query, Login atRedis) {
    KafkaEndpoint kafka = access.jobs().withLogin(access.jobLogin(query));
    return new Endpoints(kafka, endpoints.redis().withLogin(atRedis), endpoints.resultsTopic());
  }
}
