package io.tapline.sdn.switches;

/**
 * Limits on the resources that one switch may use.
 *
 * @param maxConnections maximum number of connections; further ones are closed
 * @param packetInsPerSecond rate limit of a switch; each of its ports is limited to a tenth of it
 * @param maxPendingBytes maximum number of bytes that wait to be sent; beyond it, the switch is
 *     disconnected
 * @param slowNs maximum time for which the write buffer may be full
 * @param handshakeNs maximum duration of the handshake
 * @param silenceNs maximum time for which a switch may be silent
 * @param maxMalformed maximum number of malformed messages per connection
 * @param maxFlows maximum number of flows or ports in a reply
 */
public record Limits(
    int maxConnections,
    int packetInsPerSecond,
    int maxPendingBytes,
    long slowNs,
    long handshakeNs,
    long silenceNs,
    int maxMalformed,
    int maxFlows) {
  public static final Limits DEFAULT =
      new Limits(
          4096, 2000, 16 << 20, 10_000_000_000L, 10_000_000_000L, 15_000_000_000L, 100, 100_000);
}
