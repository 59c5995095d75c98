package io.tapline.flink.results;

import io.tapline.flink.accounting.Accounts;

/**
 * An output of the results operator, which each sink encodes for its target. It is never
 * serialized, since the sinks are chained to that operator.
 */
public sealed interface Update permits WindowUpdate, Update.Totals {
  /** The query's totals so far. */
  record Totals(Accounts accounts) implements Update {}
}
