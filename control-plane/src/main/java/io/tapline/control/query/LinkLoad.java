package io.tapline.control.query;

import java.util.OptionalDouble;

/**
 * A link's load in one window of a query.
 *
 * @param query ID of the query
 * @param state state of the query
 * @param processor index in PROCESS
 * @param statistic {@code max}, {@code min} or {@code avg} of the intervals in the window
 * @param field field of {@code link_load}; its unit is bits per second, or a share of the link's
 *     speed
 * @param windowEndNs packet time, the first nanosecond after the window
 * @param value empty if the load is unknown
 * @param partial true if the window was not captured from its beginning to its end
 */
public record LinkLoad(
    String query,
    QueryState state,
    int processor,
    String statistic,
    String field,
    long windowStartNs,
    long windowEndNs,
    OptionalDouble value,
    boolean partial) {

  /** Returns true if both have the same statistic and field, possibly in different windows. */
  boolean isSameFigure(LinkLoad otherLoad) {
    return statistic.equals(otherLoad.statistic) && field.equals(otherLoad.field);
  }
}
