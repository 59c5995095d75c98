package io.tapline.network;

/**
 * A server on which processes may be placed.
 *
 * @param edge number of its edge switch
 * @param linkWeight weight of the link to its edge switch
 * @param linkBps capacity of that link in bits per second
 * @param total its resources
 * @param used the part of {@code total} that other programs use
 */
public record Host(
    String name, int edge, int linkWeight, long linkBps, Resources total, Resources used) {
  public Host {
    if (used.cpuMillis() > total.cpuMillis()
        || used.memoryMib() > total.memoryMib()
        || used.nicBps() > total.nicBps()) {
      throw new IllegalArgumentException("host " + name + " uses more than it has");
    }
  }
}
