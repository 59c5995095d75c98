package io.tapline.compiler.network;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;

/**
 * The traffic of hosts, as far as it was measured: the best estimate of what a query will make its
 * switches copy. A component that reads switches' counters passes an implementation to {@link
 * Network#with}; an inventory may contain the last measurements.
 */
@FunctionalInterface
public interface Rates {
  /** The assumed traffic of a host without a measurement, both directions: 100 Mb/s. */
  long DEFAULT_BPS = 100_000_000L;

  /** No measurements. */
  Rates NONE = host -> OptionalLong.empty();

  /** Returns both directions together in bits per second; empty if unknown. */
  OptionalLong bps(String host);

  /**
   * Reads {@code {h1: 250, h2: 1.5}}, megabits per second.
   *
   * @throws IllegalArgumentException if a value is not a number or is negative
   */
  static Rates ofMegabits(JsonNode section) {
    Map<String, Long> known = new HashMap<>();
    for (Map.Entry<String, JsonNode> each : section.properties()) {
      if (!each.getValue().isNumber() || each.getValue().asDouble() < 0) {
        throw new IllegalArgumentException(
            "rates_mbps of %s is '%s', not a number of Mbit/s"
                .formatted(each.getKey(), each.getValue().asText()));
      }
      known.put(each.getKey(), Math.round(each.getValue().asDouble() * 1e6));
    }
    return host ->
        known.containsKey(host) ? OptionalLong.of(known.get(host)) : OptionalLong.empty();
  }
}
