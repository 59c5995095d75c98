package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.access.Scope;
import io.tapline.network.IpPrefix;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One direction of a flow that uses a link, as {@code link_load} reports it (Planck section 3.3).
 *
 * @param protocol {@code tcp}, {@code udp}, or a protocol number
 * @param bitsPerSecond mean rate on the wire over the interval; empty if unknown
 * @param highBitsPerSecond upper bound of the rate; empty if nothing bounds it
 */
public record LinkFlow(
    String srcIp,
    int srcPort,
    String dstIp,
    int dstPort,
    String protocol,
    OptionalLong bitsPerSecond,
    OptionalLong lowBitsPerSecond,
    OptionalLong highBitsPerSecond) {
  private static final String END = "(?:\\[([^\\]]+)]|([^:\\[]+)):([0-9]{1,5})";

  /** {@code 10.0.0.1:40000-10.0.0.2:80/tcp}, IPv6 addresses in brackets. */
  private static final Pattern NAME = Pattern.compile(END + "-" + END + "/([a-z0-9]+)");

  /** Parses a row of the field {@code flows}; returns empty if it is not a flow. */
  static Optional<LinkFlow> of(JsonNode row) {
    Matcher name = NAME.matcher(row.path(0).asText());
    if (!name.matches()) {
      return Optional.empty();
    }
    return Optional.of(
        new LinkFlow(
            name.group(1) == null ? name.group(2) : name.group(1),
            Integer.parseInt(name.group(3)),
            name.group(4) == null ? name.group(5) : name.group(4),
            Integer.parseInt(name.group(6)),
            name.group(7),
            rate(row.path(1)),
            rate(row.path(2)),
            rate(row.path(3))));
  }

  private static OptionalLong rate(JsonNode rate) {
    return rate.isNumber() ? OptionalLong.of(rate.asLong()) : OptionalLong.empty();
  }

  /** Returns true if either end is within the scope. */
  boolean isWithin(Scope scope) {
    return scope.isEverything() || holds(scope, srcIp) || holds(scope, dstIp);
  }

  private static boolean holds(Scope scope, String address) {
    return IpPrefix.parse(address).filter(scope::holds).isPresent();
  }
}
