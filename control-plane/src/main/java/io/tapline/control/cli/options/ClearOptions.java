package io.tapline.control.cli.options;

import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import picocli.CommandLine.Option;

/**
 * Options that allow unencrypted connections beyond loopback. By default, connections from and to
 * other hosts require TLS; the operator can state that the network between the hosts is trusted.
 */
public final class ClearOptions {
  /**
   * The peer of a connection; has the same name as in {@link TlsOptions.Service}, if listed there.
   */
  public enum Service {
    /** Hosts' agents, which connect for leases. */
    AGENTS,
    /** Switches. */
    OPENFLOW,
    /** The brokers of --brokers, or the embedded broker if agents' monitors connect to it. */
    KAFKA,
    /** The Redis server of --redis. */
    REDIS,
    /** The ZooKeeper servers of --zookeeper. */
    ZOOKEEPER,
    /** The REST interface of the job managers given by --flink. */
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
          "Services whose connections beyond loopback may be unencrypted, in a trusted network: ${COMPLETION-CANDIDATES}.")
  private List<Service> services = new ArrayList<>();

  /** The option and value of the last unencrypted connection checked, by service. */
  private final TreeMap<Service, String> used = new TreeMap<>();

  /**
   * Throws a usage error if an unencrypted connection to or from other hosts is not allowed; called
   * for each connection that would be unencrypted.
   *
   * @param hosts hosts in the addresses to connect to or listen on
   * @param where the option and its value
   * @param instead the options that encrypt the connection
   */
  public void check(Service service, List<String> hosts, String where, String instead) {
    if (hosts.stream().allMatch(Loopback::is)) {
      return;
    }
    if (!services.contains(service)) {
      throw new UsageException(
          "%s: the address is not on loopback; it requires %s; in a trusted network, --clear %s permits it unencrypted"
              .formatted(where, instead, service));
    }
    used.put(service, where);
  }

  /** Warns once about each service with unencrypted connections. */
  public void warn(Console console) {
    used.forEach(
        (service, where) ->
            console.hint(
                "warning: %s is unencrypted (--clear %s): anyone on that network can read and change the data"
                    .formatted(where, service)));
  }
}
