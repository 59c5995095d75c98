package io.tapline.network.rules;

/**
 * Packets that a query wants at a monitor or, as an exception from that, does not want.
 *
 * @param owner the query
 * @param except true if the query does not want these packets here, because another switch mirrors
 *     them
 */
public record Wanted(String owner, String monitor, RuleMatch match, boolean except) {
  public Wanted(String owner, String monitor, RuleMatch match) {
    this(owner, monitor, match, false);
  }
}
