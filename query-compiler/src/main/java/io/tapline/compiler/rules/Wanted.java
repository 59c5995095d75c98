package io.tapline.compiler.rules;

/**
 * That a query wants packets at a monitor, or, as an exception from that, does not.
 *
 * @param owner the query
 * @param except whether these packets are left out of what the query wants here, because another
 *     switch mirrors them
 */
public record Wanted(String owner, String monitor, RuleMatch match, boolean except) {
  public Wanted(String owner, String monitor, RuleMatch match) {
    this(owner, monitor, match, false);
  }
}
