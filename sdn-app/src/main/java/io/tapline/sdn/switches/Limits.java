package io.tapline.sdn.switches;

/**
 * What one switch may cost the controller.
 *
 * @param mostConnections beyond, new ones are closed
 * @param packetInsPerSecond that a switch may send; a tenth of it each of its ports
 * @param mostPendingBytes written and not taken; beyond, the switch is cut off
 * @param slowNs how long something written may wait to be taken
 * @param handshakeNs how long a switch may take to introduce itself
 * @param silenceNs how long a switch may say nothing
 * @param mostMalformed messages of a connection
 * @param mostFlows of a reply
 */
public record Limits(
    int mostConnections,
    int packetInsPerSecond,
    int mostPendingBytes,
    long slowNs,
    long handshakeNs,
    long silenceNs,
    int mostMalformed,
    int mostFlows) {
  public static final Limits DEFAULT =
      new Limits(
          4096, 2000, 16 << 20, 10_000_000_000L, 10_000_000_000L, 15_000_000_000L, 100, 100_000);
}
