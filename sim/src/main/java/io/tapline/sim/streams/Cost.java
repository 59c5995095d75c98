package io.tapline.sim.streams;

/** The cost of a run; CPU time is that of the whole process, including the broker. */
public record Cost(long tuples, double seconds, double cpuSeconds) {
  /**
   * Returns the cost of the longer of two runs beyond the shorter, which excludes start and stop.
   */
  Cost minus(Cost shorter) {
    return new Cost(
        tuples - shorter.tuples, seconds - shorter.seconds, cpuSeconds - shorter.cpuSeconds);
  }

  public double tuplesPerSecond() {
    return tuples / seconds;
  }

  public double cpuMicroseconds() {
    return 1e6 * cpuSeconds / tuples;
  }
}
