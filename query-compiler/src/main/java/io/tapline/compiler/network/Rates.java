package io.tapline.compiler.network;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;

/**
 * How much hosts send and receive, as far as somebody has counted: the best that is known of what a
 * query will make its switches copy. Whoever reads switches' counters gives an implementation to
 * {@link Network#with}; an inventory may hold what was read last.
 */
@FunctionalInterface
public interface Rates {
  /** What is expected of a host of which nothing is known, both directions: 100 Mb/s. */
  long DEFAULT_BPS = 100_000_000L;

  /** Nobody has counted. */
  Rates NONE = host -> OptionalLong.empty();

  /** Both directions together, bits per second; empty if not known. */
  OptionalLong bps(String host);

  /**
   * Reads {@code {h1: 250, h2: 1.5}}, megabits per second.
   *
   * @throws IllegalArgumentException if a value is no number or negative
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
