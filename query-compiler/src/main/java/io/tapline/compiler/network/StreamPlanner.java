package io.tapline.compiler.network;

import io.tapline.network.Network;
import io.tapline.network.Topology;
import io.tapline.schema.proto.Leader;
import io.tapline.schema.proto.Stream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.IntStream;

/**
 * Chooses, among the existing brokers and Flink clusters, those to which a query's tuples have the
 * shortest path. They correspond to the aggregators and processors of NetAlytics (Middleware 2016,
 * 4.1), except that they already run and are not started per query. The choice is optimal: since
 * there are few brokers and clusters, it tries all combinations. A pure function of its input.
 *
 * <p>The length of a path is the weight of its links: from the monitor to the broker that leads its
 * partition, and from there to the cluster, averaged over the cluster's hosts.
 */
public final class StreamPlanner {
  /** Length of a path that leaves the network: larger than any within it. */
  private static final double UNKNOWN = 1e6;

  /**
   * A broker.
   *
   * @param host empty if it runs on no host of the network
   */
  public record Broker(int id, String host) {}

  /**
   * A Flink cluster.
   *
   * @param hosts hosts of its task managers, without those outside the network
   */
  public record Cluster(String address, List<String> hosts, int freeSlots) {}

  private final Topology topology;
  private final List<Broker> brokers;

  private StreamPlanner(Topology topology, List<Broker> brokers) {
    this.topology = topology;
    this.brokers =
        brokers.stream().anyMatch(broker -> !broker.host().isEmpty())
            ? brokers.stream().sorted(Comparator.comparingInt(Broker::id)).toList()
            : List.of();
  }

  /**
   * Chooses a query's cluster, and a broker for each of its partitions. Uses clusters without a
   * free slot only if no cluster has one. Among equally near clusters, prefers the one with the
   * most free slots; among equally near brokers, the choice varies by query and partition.
   *
   * @param monitors host of each partition's writer
   * @param brokers if none of them runs on a host of the network, none is chosen
   */
  public static Stream choose(
      Network network,
      String query,
      List<String> monitors,
      List<Broker> brokers,
      List<Cluster> clusters) {
    StreamPlanner planner = new StreamPlanner(network.topology(), brokers);
    boolean anyFree = clusters.stream().anyMatch(cluster -> cluster.freeSlots() > 0);
    return clusters.stream()
        .filter(cluster -> cluster.freeSlots() > 0 || !anyFree)
        .map(cluster -> planner.way(query, monitors, cluster))
        .min(
            Comparator.comparingDouble(Way::length)
                .thenComparing(Way::freeSlots, Comparator.reverseOrder()))
        .map(Way::stream)
        .orElseGet(Stream::getDefaultInstance);
  }

  private record Way(double length, int freeSlots, Stream stream) {}

  private Way way(String query, List<String> monitors, Cluster cluster) {
    Stream.Builder stream =
        Stream.newBuilder().setCluster(cluster.address()).addAllHosts(cluster.hosts());
    double length = 0;
    for (int partition = 0; partition < monitors.size() && !brokers.isEmpty(); partition++) {
      String monitor = monitors.get(partition);
      double min =
          brokers.stream()
              .mapToDouble(broker -> length(monitor, broker, cluster))
              .min()
              .orElseThrow();
      List<Broker> nearest = new ArrayList<>(brokers);
      nearest.removeIf(broker -> length(monitor, broker, cluster) > min);
      Broker leader = nearest.get(Math.floorMod(query.hashCode() + partition, nearest.size()));
      stream.addLeaders(Leader.newBuilder().setBroker(leader.id()).setHost(leader.host()));
      length += min;
    }
    return new Way(length, cluster.freeSlots(), stream.build());
  }

  private double length(String monitor, Broker broker, Cluster cluster) {
    double toJob =
        cluster.hosts().stream()
            .mapToDouble(host -> length(broker.host(), host))
            .average()
            .orElse(UNKNOWN);
    return length(monitor, broker.host()) + toJob;
  }

  private double length(String source, String destination) {
    OptionalInt a = number(source);
    OptionalInt b = number(destination);
    return a.isPresent() && b.isPresent()
        ? topology.path(a.getAsInt(), b.getAsInt()).weight()
        : UNKNOWN;
  }

  private OptionalInt number(String host) {
    return IntStream.range(0, topology.hostCount())
        .filter(number -> topology.host(number).name().equals(host))
        .findFirst();
  }
}
