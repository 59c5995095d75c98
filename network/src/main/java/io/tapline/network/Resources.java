package io.tapline.network;

/**
 * The resources of a host, or the needs of a process.
 *
 * @param cpuMillis thousandths of a CPU
 * @param memoryMib memory in MiB
 * @param nicBps bits per second that may be mirrored to the host or process
 */
public record Resources(long cpuMillis, long memoryMib, long nicBps) {
  public static final Resources NONE = new Resources(0, 0, 0);

  public Resources {
    if (cpuMillis < 0 || memoryMib < 0 || nicBps < 0) {
      throw new IllegalArgumentException("negative resources");
    }
  }
}
