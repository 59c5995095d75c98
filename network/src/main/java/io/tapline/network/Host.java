package io.tapline.network;

/**
 * A server on which processes may be placed.
 *
 * @param edge its edge switch
 * @param linkWeight weight of the link between the two
 * @param linkBps capacity of that link
 * @param total its resources
 * @param used the part of {@code total} that others use
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
