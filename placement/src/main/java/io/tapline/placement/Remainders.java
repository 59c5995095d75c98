package io.tapline.placement;

import io.tapline.network.Topology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The output that remains after each aggregator has filled as many whole processors as it can.
 * Aggregators can share processors for this remainder in two ways. Remainders either stay whole and
 * are clustered ({@link Clustering}), or they are poured: one after another fills a processor and
 * is split when that is full, within each group or across the network.
 */
final class Remainders {
  /** Argument of {@link #readers} instead of a number of processors: pours within each group. */
  static final int POURED_BY_GROUP = -1;

  /** Argument of {@link #readers} instead of a number of processors: pours across the network. */
  static final int POURED = -2;

  /** A processor near a host, with its inputs. */
  record Reader(int near, List<Share> shares) {}

  /** A processor's input from an aggregator. */
  record Share(int aggregator, long bps) {}

  private final Topology topology;
  private final List<Layout.Process> aggregators;
  private final int[] sharing;
  private final long capacity;
  private final int whole;
  private final Clustering clustering;

  Remainders(Topology topology, List<Layout.Process> aggregators, long capacity) {
    this.topology = topology;
    this.aggregators = aggregators;
    this.capacity = capacity;
    this.sharing =
        IntStream.range(0, aggregators.size())
            .filter(a -> input(a) % capacity > 0 || input(a) == 0)
            .toArray();
    this.whole = (int) aggregators.stream().mapToLong(a -> a.inputBps() / capacity).sum();
    int[] hosts = Arrays.stream(sharing).map(a -> aggregators.get(a).host()).toArray();
    long[] bps = Arrays.stream(sharing).mapToLong(a -> input(a) % capacity).toArray();
    this.clustering = Clustering.of(topology, new Engines.Sources(hosts, bps), capacity);
  }

  private long input(int aggregator) {
    return aggregators.get(aggregator).inputBps();
  }

  /** Returns the number of processors that a single aggregator fills. */
  int whole() {
    return whole;
  }

  int minCount() {
    return clustering.minCount();
  }

  int maxCount() {
    return clustering.maxCount();
  }

  /** Returns the weighted traffic to this number of shared processors. */
  long traffic(int count) {
    return clustering.traffic(count);
  }

  long traffic(List<Reader> readers) {
    long traffic = 0;
    for (Reader reader : readers) {
      for (Share share : reader.shares()) {
        int host = aggregators.get(share.aggregator()).host();
        traffic += share.bps() * topology.weight(host, reader.near());
      }
    }
    return traffic;
  }

  /**
   * Returns the processors for the remainders. Pours if {@code count} is one of the constants
   * above, else clusters the remainders into this number of processors, clamped to the feasible
   * range.
   */
  List<Reader> readers(int count) {
    if (count < 0) {
      return poured(count == POURED_BY_GROUP);
    }
    int possible = Math.max(minCount(), Math.min(count, maxCount()));
    List<Reader> readers = new ArrayList<>();
    for (Clustering.Cluster cluster : clustering.clusters(possible)) {
      List<Share> shares = new ArrayList<>();
      for (int member : cluster.members) {
        shares.add(new Share(sharing[member], input(sharing[member]) % capacity));
      }
      readers.add(new Reader(cluster.centre, shares));
    }
    return readers;
  }

  private List<Reader> poured(boolean byGroup) {
    int[] order =
        Arrays.stream(sharing)
            .boxed()
            .sorted(Comparator.<Integer>comparingInt(this::group).thenComparingInt(this::edge))
            .mapToInt(Integer::intValue)
            .toArray();
    List<Reader> readers = new ArrayList<>();
    long room = 0;
    int group = -1;
    for (int a : order) {
      room = byGroup && group(a) != group ? 0 : room;
      group = group(a);
      long left = input(a) % capacity;
      do {
        if (room == 0) {
          readers.add(new Reader(aggregators.get(a).host(), new ArrayList<>()));
          room = capacity;
        }
        long bps = Math.min(left, room);
        readers.get(readers.size() - 1).shares().add(new Share(a, bps));
        left -= bps;
        room -= bps;
      } while (left > 0);
    }
    return readers;
  }

  private int edge(int aggregator) {
    return topology.edgeOf(aggregators.get(aggregator).host());
  }

  private int group(int aggregator) {
    return topology.groupsOf(edge(aggregator))[0];
  }
}
