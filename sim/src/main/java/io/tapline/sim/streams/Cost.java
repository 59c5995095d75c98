package io.tapline.sim.streams;

/** What a run took: CPU is that of the whole process, with the broker in it. */
public record Cost(long tuples, double seconds, double cpuSeconds) {
  /** What the longer of two runs took beyond the shorter: without start and stop. */
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
