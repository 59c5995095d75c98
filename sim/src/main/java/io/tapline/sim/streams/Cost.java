package io.tapline.sim.streams;

/** The cost of a run. CPU time includes the whole process and the broker. */
public record Cost(long tuples, double seconds, double cpuSeconds) {
  /** Returns the cost beyond that of a shorter run, which excludes startup and shutdown. */
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
