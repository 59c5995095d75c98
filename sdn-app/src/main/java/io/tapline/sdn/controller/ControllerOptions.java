package io.tapline.sdn.controller;

import io.tapline.sdn.switches.Limits;
import io.tapline.sdn.switches.SwitchTls;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.util.Optional;

/**
 * How a controller runs.
 *
 * @param address to listen on; port 0 takes a free one
 * @param epoch in the cookies of what it installs: later controllers have higher ones
 * @param settleNs how long after a new switch routes are worked out, and a port is up before hosts
 *     are believed to be behind it
 * @param readNs how often a switch's flows and counters are read
 * @param keepNs how long the links of a switch that is gone are taken to work on
 * @param tls switches then need a certificate; empty for none of it
 */
public record ControllerOptions(
    InetSocketAddress address,
    NetworkMap map,
    Limits limits,
    long epoch,
    long settleNs,
    long helloNs,
    long readNs,
    long keepNs,
    Optional<SwitchTls> tls) {

  public static ControllerOptions of(InetSocketAddress address, NetworkMap map) {
    return new ControllerOptions(
        address,
        map,
        Limits.DEFAULT,
        Instant.now().getEpochSecond(),
        2_500_000_000L,
        1_000_000_000L,
        10_000_000_000L,
        30_000_000_000L,
        Optional.empty());
  }

  public ControllerOptions with(Limits other) {
    return new ControllerOptions(
        address, map, other, epoch, settleNs, helloNs, readNs, keepNs, tls);
  }

  /** For switches that come over TLS, where there is any. */
  public ControllerOptions with(Optional<SwitchTls> switches) {
    return new ControllerOptions(
        address, map, limits, epoch, settleNs, helloNs, readNs, keepNs, switches);
  }

  /** For tests and benchmarks: other times. */
  public ControllerOptions withTimes(long settle, long hello, long read) {
    return new ControllerOptions(address, map, limits, epoch, settle, hello, read, keepNs, tls);
  }
}
