package io.tapline.control.query;

import io.tapline.flink.Endpoints;
import java.nio.file.Path;
import java.util.List;

/**
 * What queries run on.
 *
 * @param endpoints Kafka and Redis
 * @param hostBrokers Kafka, as other hosts reach it
 * @param flink where jobs run
 * @param monitor the monitor program
 * @param plugins shared objects with parsers that it loads
 * @param hashKeyFile the keys of hashes that it is given
 * @param folder for plan files
 * @param topics how long they are there
 * @param mostQueries that run at once
 */
public record Backend(
    Endpoints endpoints,
    String hostBrokers,
    JobClusters flink,
    Path monitor,
    List<Path> plugins,
    Path hashKeyFile,
    Path folder,
    TopicPolicy topics,
    int mostQueries) {}
