package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.PipelineException;

/** Hears what a monitor tells of itself, in order, on one thread. */
interface MonitorEvents {
  /** It sees packets. */
  default void ready() {}

  /**
   * How far it is.
   *
   * @param fraction of its input, 0 to 1; NaN where there is no end
   * @param packets seen so far, whoever wanted them
   */
  default void progress(double fraction, long packets, long bytes) {}

  default void warning(String message) {}

  /** From now on it takes packets for an added query. */
  default void queryAdded(String query) {}

  /** It does not obey a command about this query. */
  default void queryRefused(String query, PipelineException reason) {}

  /** All of an added query is out; its accounting balances. */
  default void queryEnded(String query, JsonNode accounting) {}
}
