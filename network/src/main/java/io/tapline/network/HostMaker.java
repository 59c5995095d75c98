package io.tapline.network;

import java.util.random.RandomGenerator;

/** Creates the hosts of a topology. */
@FunctionalInterface
public interface HostMaker {
  /** Capacity of a 10 Gb/s link in bits per second. */
  long TEN_GIGABIT = 10_000_000_000L;

  /** Returns a host with this name under this edge switch. */
  Host make(String name, int edge);

  /** Returns a maker of identical, idle hosts. */
  static HostMaker uniform(int cpus, int memoryGib) {
    Resources total = new Resources(cpus * 1000L, memoryGib * 1024L, TEN_GIGABIT);
    return (name, edge) -> new Host(name, edge, 1, TEN_GIGABIT, total, Resources.NONE);
  }

  /**
   * Returns a maker of random hosts like those in section 6.2 of the NetAlytics paper: 12 to 24
   * CPUs and 32 to 128 GiB of memory, each 40 to 80 % used, and a 10 Gb/s link.
   */
  static HostMaker ofPaper(RandomGenerator random) {
    return (name, edge) -> {
      long cpuMillis = random.nextInt(12, 25) * 1000L;
      long memoryMib = random.nextInt(32, 129) * 1024L;
      Resources used =
          new Resources(
              (long) (cpuMillis * random.nextDouble(0.4, 0.8)),
              (long) (memoryMib * random.nextDouble(0.4, 0.8)),
              0);
      Resources total = new Resources(cpuMillis, memoryMib, TEN_GIGABIT);
      return new Host(name, edge, 1, TEN_GIGABIT, total, used);
    };
  }
}
