package io.tapline.flink.results;

import io.tapline.flink.accounting.Accounts;

/**
 * What the results operator emits; each sink encodes it for its own target. Stays within the task
 * that emits it, to which the sinks are chained: it is never serialized.
 */
public sealed interface Update permits WindowUpdate, Update.Totals {
  /** What the query has seen so far. */
  record Totals(Accounts accounts) implements Update {}
}
