package io.tapline.compiler.access;

import io.tapline.conditions.Trees;
import io.tapline.network.IpPrefix;
import io.tapline.schema.proto.ConditionTree;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The addresses that a caller may see.
 *
 * @param prefixes the addresses; empty for all
 */
public record Scope(List<IpPrefix> prefixes) {
  /** All addresses. */
  public static final Scope EVERYTHING = new Scope(List.of());

  private static final Pattern LENGTH = Pattern.compile("0|[1-9][0-9]{0,2}");

  public Scope {
    prefixes = List.copyOf(prefixes);
  }

  /**
   * Parses an address, or a prefix such as "10.0.2.0/24".
   *
   * @return empty if the text is neither, or has bits set beyond its length
   */
  public static Optional<IpPrefix> prefix(String text) {
    int slash = text.indexOf('/');
    Optional<IpPrefix> address = IpPrefix.parse(slash < 0 ? text : text.substring(0, slash));
    if (slash < 0 || address.isEmpty()) {
      return address;
    }
    String digits = text.substring(slash + 1);
    if (!LENGTH.matcher(digits).matches() || Integer.parseInt(digits) > address.get().longest()) {
      return Optional.empty();
    }
    IpPrefix prefix = address.get().shortened(Integer.parseInt(digits));
    return prefix.addressText().equals(address.get().addressText())
        ? Optional.of(prefix)
        : Optional.empty();
  }

  public boolean isEverything() {
    return prefixes.isEmpty();
  }

  /**
   * Returns the condition that the source or destination of a packet header is within the scope; a
   * tree without nodes if the scope has no limits.
   */
  public ConditionTree ofHeaders() {
    return Trees.or(
        prefixes.stream()
            .flatMap(prefix -> Stream.of("src", "dst").map(end -> end(end, prefix)))
            .toList());
  }

  private static ConditionTree end(String end, IpPrefix prefix) {
    String field = end + (prefix.isIpv6() ? "_ip6" : "_ip");
    return Trees.isOneOf(field, List.of(Trees.word(prefix.toString())));
  }

  /** Returns true if all addresses of a prefix are within the scope. */
  public boolean holds(IpPrefix wanted) {
    return isEverything() || prefixes.stream().anyMatch(prefix -> prefix.covers(wanted));
  }

  /** Returns true if everything in the other scope is within this one. */
  public boolean includes(Scope otherScope) {
    return isEverything()
        || !otherScope.isEverything() && otherScope.prefixes.stream().allMatch(this::holds);
  }

  /** Returns the scope as text for users; empty if it has no limits. */
  public Optional<String> limits() {
    return isEverything() ? Optional.empty() : Optional.of(toString());
  }

  /** Returns the scope as text for users. */
  @Override
  public String toString() {
    return isEverything()
        ? "everything"
        : prefixes.stream().map(IpPrefix::toString).collect(Collectors.joining(", "));
  }
}
