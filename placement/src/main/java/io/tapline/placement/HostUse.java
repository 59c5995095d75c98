package io.tapline.placement;

import io.tapline.network.Host;
import io.tapline.network.Resources;
import io.tapline.network.Topology;
import java.util.random.RandomGenerator;

/** The free resources of each host during a placement. Not thread-safe. */
final class HostUse {
  private static final int RANDOM_TRIES = 32;

  private final Topology topology;
  private final long[] cpuMillis;
  private final long[] memoryMib;
  private final long[] nicBps;

  HostUse(Topology topology) {
    this.topology = topology;
    cpuMillis = new long[topology.hostCount()];
    memoryMib = new long[cpuMillis.length];
    nicBps = new long[cpuMillis.length];
    for (int h = 0; h < cpuMillis.length; h++) {
      Host host = topology.host(h);
      cpuMillis[h] = host.total().cpuMillis() - host.used().cpuMillis();
      memoryMib[h] = host.total().memoryMib() - host.used().memoryMib();
      nicBps[h] = host.total().nicBps() - host.used().nicBps();
    }
  }

  /** Creates an independent copy. */
  HostUse(HostUse other) {
    topology = other.topology;
    cpuMillis = other.cpuMillis.clone();
    memoryMib = other.memoryMib.clone();
    nicBps = other.nicBps.clone();
  }

  /** Replaces these values with those of another instance for the same topology. */
  void copyFrom(HostUse source) {
    System.arraycopy(source.cpuMillis, 0, cpuMillis, 0, cpuMillis.length);
    System.arraycopy(source.memoryMib, 0, memoryMib, 0, memoryMib.length);
    System.arraycopy(source.nicBps, 0, nicBps, 0, nicBps.length);
  }

  boolean fits(int host, Resources need) {
    return cpuMillis[host] >= need.cpuMillis()
        && memoryMib[host] >= need.memoryMib()
        && nicBps[host] >= need.nicBps();
  }

  /** Reserves resources on a host. REQUIRES: they fit. */
  void take(int host, Resources need) {
    change(host, need, -1);
  }

  /** Undoes a {@link #take}. */
  void give(int host, Resources need) {
    change(host, need, 1);
  }

  private void change(int host, Resources need, int sign) {
    cpuMillis[host] += sign * need.cpuMillis();
    memoryMib[host] += sign * need.memoryMib();
    nicBps[host] += sign * need.nicBps();
  }

  /** Makes the host reject all further processes. */
  void close(int host) {
    cpuMillis[host] = -1;
  }

  /** Returns the used share of CPU or memory, whichever is larger, from 0 to 1. */
  double load(int host) {
    Resources total = topology.host(host).total();
    double cpu = 1 - (double) cpuMillis[host] / Math.max(1, total.cpuMillis());
    double memory = 1 - (double) memoryMib[host] / Math.max(1, total.memoryMib());
    return Math.max(cpu, memory);
  }

  /** Returns the least loaded host with room under an edge switch; -1 if none has room. */
  int leastLoaded(int edge, Resources need) {
    int best = -1;
    for (int host : topology.hostsOf(edge)) {
      if (fits(host, need) && (best < 0 || load(host) < load(best))) {
        best = host;
      }
    }
    return best;
  }

  /**
   * Returns the least loaded host with room under any edge switch of a group; -1 if none has room.
   */
  int leastLoadedOfGroup(int group, Resources need) {
    int best = -1;
    for (int edge : topology.edgesOf(group)) {
      int host = leastLoaded(edge, need);
      if (host >= 0 && (best < 0 || load(host) < load(best))) {
        best = host;
      }
    }
    return best;
  }

  /** Returns the least loaded host with room; -1 if none has room. */
  int leastLoadedOfAll(Resources need) {
    int best = -1;
    for (int host = 0; host < cpuMillis.length; host++) {
      if (fits(host, need) && (best < 0 || load(host) < load(best))) {
        best = host;
      }
    }
    return best;
  }

  /**
   * Returns the given host if it has room, else the least loaded host with room in the nearest rack
   * (by weight) that has any; -1 if none has room.
   */
  int nearest(int place, Resources need) {
    if (fits(place, need)) {
      return place;
    }
    int best = -1;
    int bestWeight = Integer.MAX_VALUE;
    for (int edge = 0; edge < topology.edgeCount(); edge++) {
      int between = topology.edgePath(topology.edgeOf(place), edge).weight();
      int host = between < bestWeight ? leastLoaded(edge, need) : -1;
      if (host >= 0) {
        best = host;
        bestWeight = between;
      }
    }
    return best;
  }

  /** Returns a uniformly random host with room; -1 if none has room. */
  int random(Resources need, RandomGenerator random) {
    for (int i = 0; i < RANDOM_TRIES; i++) {
      int host = random.nextInt(cpuMillis.length);
      if (fits(host, need)) {
        return host;
      }
    }
    int[] fitting =
        java.util.stream.IntStream.range(0, cpuMillis.length).filter(h -> fits(h, need)).toArray();
    return fitting.length == 0 ? -1 : fitting[random.nextInt(fitting.length)];
  }

  /** Returns the host. Throws an error that names the process if the host is -1. */
  static int required(int host, String process, Resources need) {
    if (host < 0) {
      throw new PlacementException(
          PlacementException.Code.NO_HOST,
          "no host has room for another %s, which needs %.2f CPUs and %,d MiB: free some, or sample the query"
              .formatted(process, need.cpuMillis() / 1000.0, need.memoryMib()));
    }
    return host;
  }
}
