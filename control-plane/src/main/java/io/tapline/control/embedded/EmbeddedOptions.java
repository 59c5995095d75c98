package io.tapline.control.embedded;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.control.HashKeys;
import io.tapline.control.JobKey;
import io.tapline.control.query.services.TopicPolicy;
import io.tapline.flink.RedisEndpoint;
import io.tapline.flink.TlsFiles;
import io.tapline.network.Network;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Settings of an embedded pipeline.
 *
 * @param monitor the monitor program
 * @param plugins shared objects with parsers, for the monitor to load
 * @param catalogue all parsers of the monitor
 * @param inventory names of hosts
 * @param network network of the inventory, in which queries are placed
 * @param brokers Kafka brokers to use instead of an embedded one, {@code host:port}; empty for the
 *     embedded one
 * @param jobBrokers address at which jobs log in to that Kafka with a user and a password; empty if
 *     they don't
 * @param kafkaTls TLS files for both addresses of Kafka
 * @param address address of this host at which the embedded broker listens for other hosts'
 *     monitors; empty for none
 * @param redis Redis server to use instead of an embedded one; empty for the embedded one
 * @param flink session clusters to use instead of an embedded one, {@code http://host:port}; empty
 *     for the embedded one
 * @param flinkTls TLS files for the session clusters' job managers
 * @param checkpoints URI of the clusters' checkpoint folder; empty for the job manager's memory
 * @param topics retention of topics
 * @param hashKeys hash keys of the monitors that are started here
 * @param jobKey key from which job passwords are derived
 * @param maxQueries maximum number of concurrent queries
 */
public record EmbeddedOptions(
    Path monitor,
    List<Path> plugins,
    Catalogue catalogue,
    Inventory inventory,
    Optional<Network> network,
    String brokers,
    String jobBrokers,
    TlsFiles kafkaTls,
    String address,
    Optional<RedisEndpoint> redis,
    List<String> flink,
    TlsFiles flinkTls,
    String checkpoints,
    TopicPolicy topics,
    HashKeys hashKeys,
    JobKey jobKey,
    int maxQueries) {
  /** Maximum number of concurrent queries, sufficient for a command and for tests. */
  public static final int FEW_QUERIES = 12;

  /** Returns these options with other hash keys. */
  public EmbeddedOptions with(HashKeys keys) {
    return new EmbeddedOptions(
        monitor,
        plugins,
        catalogue,
        inventory,
        network,
        brokers,
        jobBrokers,
        kafkaTls,
        address,
        redis,
        flink,
        flinkTls,
        checkpoints,
        topics,
        keys,
        jobKey,
        maxQueries);
  }

  public static EmbeddedOptions of(Path monitor, Catalogue catalogue, Inventory inventory) {
    return new EmbeddedOptions(
        monitor,
        List.of(),
        catalogue,
        inventory,
        Optional.empty(),
        "",
        "",
        TlsFiles.NONE,
        "",
        Optional.empty(),
        List.of(),
        TlsFiles.NONE,
        "",
        TopicPolicy.defaults(),
        HashKeys.KNOWN,
        JobKey.random(),
        FEW_QUERIES);
  }
}
