package io.tapline.control.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import picocli.CommandLine.Option;

/**
 * What is spoken in the clear beyond loopback. By itself nothing is: an address that other hosts
 * reach, or that is another host's, goes with TLS, or with a word of the operator's that the
 * network between is his own.
 */
final class ClearOptions {
  /** Who is spoken to; as in {@link TlsOptions.Service} where that knows them. */
  enum Service {
    /** Hosts' agents, who come for leases. */
    AGENTS,
    /** Switches. */
    OPENFLOW,
    /** Brokers, of --brokers or the embedded one that agents' monitors reach. */
    KAFKA,
    /** The Redis of --redis. */
    REDIS,
    /** The ZooKeeper of --zookeeper. */
    ZOOKEEPER,
    /** The job managers' REST interface of --flink. */
    FLINK;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  @Option(
      names = "--clear",
      paramLabel = "SERVICE",
      split = ",",
      description =
          "The network is your own: speak without TLS with these beyond loopback, too: ${COMPLETION-CANDIDATES}.")
  private List<Service> services = new ArrayList<>();

  /** What makes use of that. */
  private final TreeMap<Service, String> used = new TreeMap<>();

  /**
   * Refuses what would go in the clear to other hosts, or come from them, and was not allowed to.
   *
   * @param hosts of the addresses that are spoken to, or listened at
   * @param where the option and its value
   * @param instead the options that make it right
   */
  void check(Service service, List<String> hosts, String where, String instead) {
    if (hosts.stream().allMatch(Loopback::is)) {
      return;
    }
    if (!services.contains(service)) {
      throw new UsageException(
          "%s: that is beyond loopback, so it takes %s; in a network of your own --clear %s leaves it in the clear"
              .formatted(where, instead, service));
    }
    used.put(service, where);
  }

  /** Says once what goes in the clear. */
  void warn(Console console) {
    used.forEach(
        (service, where) ->
            console.hint(
                "warning: %s in the clear (--clear %s): whoever is on that network can read and change it"
                    .formatted(where, service)));
  }
}
