package io.tapline.flink.results;

import io.tapline.flink.accounting.Accounts;

/**
 * An output of the results operator, which each sink encodes for its target. Stays within the task
 * that emits it, to which the sinks are chained: it is never serialized.
 */
public sealed interface Update permits WindowUpdate, Update.Totals {
  /** The totals of the query so far. */
  record Totals(Accounts accounts) implements Update {}
}
