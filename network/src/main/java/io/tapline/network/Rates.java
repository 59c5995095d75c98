package io.tapline.network;

import java.util.Map;
import java.util.OptionalLong;

/**
 * The measured traffic of hosts. It is the best estimate of how much traffic switches will copy for
 * a query. A component that reads switches' counters passes an implementation to {@link
 * Network#with}.
 */
@FunctionalInterface
public interface Rates {
  /** The assumed traffic of a host without a measurement, in both directions together: 100 Mb/s. */
  long DEFAULT_BPS = 100_000_000L;

  /** No measurements. */
  Rates NONE = host -> OptionalLong.empty();

  /** Returns a host's traffic in both directions together, in bits per second; empty if unknown. */
  OptionalLong bps(String host);

  /** Returns fixed rates, in bits per second by host. */
  static Rates of(Map<String, Long> bpsOfHost) {
    Map<String, Long> known = Map.copyOf(bpsOfHost);
    return host -> {
      Long bps = known.get(host);
      return bps == null ? OptionalLong.empty() : OptionalLong.of(bps);
    };
  }
}
