package io.tapline.sdn.controller;

import io.tapline.sdn.switches.Limits;
import io.tapline.sdn.switches.SwitchTls;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.util.Optional;

/**
 * Settings of a controller.
 *
 * @param address address to listen on; port 0 selects a free one
 * @param epoch epoch in the cookies of the controller's flows; later controllers have higher epochs
 * @param settleNs delay between a new switch and the computation of routes, and the time that a
 *     port must be up before hosts are expected behind it
 * @param helloNs interval at which LLDP frames are sent out of each port
 * @param readNs interval at which a switch's flows and counters are read
 * @param keepNs how long the links of a disconnected switch are assumed to work
 * @param tls requires certificates from switches; empty for no TLS
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

  public ControllerOptions with(Limits newLimits) {
    return new ControllerOptions(
        address, map, newLimits, epoch, settleNs, helloNs, readNs, keepNs, tls);
  }

  /** Returns these options with other TLS settings; empty for no TLS. */
  public ControllerOptions with(Optional<SwitchTls> switches) {
    return new ControllerOptions(
        address, map, limits, epoch, settleNs, helloNs, readNs, keepNs, switches);
  }

  /** Returns these options with different times, for tests and benchmarks. */
  public ControllerOptions withTimes(long settle, long hello, long read) {
    return new ControllerOptions(address, map, limits, epoch, settle, hello, read, keepNs, tls);
  }
}
