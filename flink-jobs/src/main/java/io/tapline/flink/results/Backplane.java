package io.tapline.flink.results;

import io.tapline.flink.Endpoints;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.GlobalConfiguration;

/**
 * The servers on which the job itself depends: Kafka, Redis, Flink and ZooKeeper, if the job's or
 * its task manager's settings name them, and the task manager's host.
 *
 * @param servers {@code host:port} each, IPv6 in brackets
 */
record Backplane(List<String> servers) {
  static Backplane of(Endpoints endpoints) {
    List<String> servers = new ArrayList<>(hosts(endpoints.kafka().brokers()));
    servers.add(endpoints.redis().address());
    Configuration flink = GlobalConfiguration.loadConfiguration();
    servers.addAll(hosts(flink.getString("high-availability.zookeeper.quorum", "")));
    servers.addAll(server(flink, "jobmanager.rpc"));
    servers.addAll(server(flink, "rest"));
    return new Backplane(servers);
  }

  private static List<String> server(Configuration flink, String prefix) {
    String host = flink.getString(prefix + ".address", "");
    return host.isEmpty() ? List.of() : List.of(host + ":" + flink.getString(prefix + ".port", ""));
  }

  private static List<String> hosts(String list) {
    return Arrays.stream(list.split(",")).map(String::strip).filter(s -> !s.isEmpty()).toList();
  }

  /**
   * Returns true if the address belongs to one of the servers. On loopback, which other servers
   * share, the port must match, too.
   */
  boolean holds(InetAddress address, int port, Resolver resolver) {
    for (String server : servers) {
      int colon = server.lastIndexOf(':');
      boolean samePort = server.substring(colon + 1).equals(Integer.toString(port));
      if ((samePort || !address.isLoopbackAddress())
          && resolver.find(server.substring(0, colon)).contains(address)) {
        return true;
      }
    }
    return !address.isLoopbackAddress() && isOwn(address);
  }

  private static boolean isOwn(InetAddress address) {
    try {
      return NetworkInterface.getByInetAddress(address) != null;
    } catch (SocketException e) {
      return true;
    }
  }
}
