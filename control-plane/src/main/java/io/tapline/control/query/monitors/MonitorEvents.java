package io.tapline.control.query.monitors;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.PipelineException;

/** Receives a monitor's events, in order, on one thread. */
interface MonitorEvents {
  /** The monitor sees packets. */
  default void ready() {}

  /**
   * The monitor reports its progress.
   *
   * @param fraction share of its input, 0 to 1; NaN if the input has no end
   * @param packets packets seen so far, of any query
   */
  default void progress(double fraction, long packets, long bytes) {}

  default void warning(String message) {}

  /** The monitor now captures packets for an added query. */
  default void queryAdded(String query) {}

  /** The monitor refuses a command about this query. */
  default void queryRefused(String query, PipelineException reason) {}

  /** The monitor has sent all tuples of an added query; its accounting balances. */
  default void queryEnded(String query, JsonNode accounting) {}
}
