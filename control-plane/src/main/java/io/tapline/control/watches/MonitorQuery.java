package io.tapline.control.watches;

import io.tapline.compiler.TriggerCompiler.Alerting;
import io.tapline.compiler.TriggerCompiler.TriggerText;
import io.tapline.control.drill.WatchSpec;

/** The text of the query that runs a watch in a monitor. */
final class MonitorQuery {
  private MonitorQuery() {}

  /** Returns the query. */
  static String text(WatchSpec watch) {
    return "%s PROCESS %s".formatted(clauses(watch), trigger(watch).text());
  }

  /**
   * Returns the clauses before PROCESS; a restricted owner sees only connections to its networks.
   */
  static String clauses(WatchSpec watch) {
    return clauses(watch.filter().scope().limits().orElse("*"));
  }

  /** Returns the clauses for an owner that may see connections to these networks. */
  static String clauses(String limits) {
    return "PARSE packets FROM * TO %s SAMPLE *".formatted(limits);
  }

  /** Returns the trigger for PROCESS. */
  static TriggerText trigger(WatchSpec watch) {
    return new TriggerText(
        watch.when(),
        watch.aggregate().groupBy(),
        watch.filter().text(),
        watch.everyNs(),
        watch.windowNs(),
        new Alerting(
            watch.rules().after(),
            watch.rules().clear(),
            watch.rules().cooldownNs(),
            watch.severity()));
  }
}
