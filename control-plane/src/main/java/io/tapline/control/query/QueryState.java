package io.tapline.control.query;

import java.util.Locale;

/**
 * Where a query is in its life.
 *
 * <pre>
 * SUBMITTED ─▶ STARTING ─▶ RUNNING ─▶ FINISHED        the capture or LIMIT ended
 *                  │           ├────▶ STOPPED         somebody stopped it
 *                  └───────────┴────▶ FAILED          with an error
 * </pre>
 */
public enum QueryState {
  SUBMITTED,
  STARTING,
  RUNNING,
  FINISHED,
  STOPPED,
  FAILED;

  public boolean ended() {
    return this == FINISHED || this == STOPPED || this == FAILED;
  }

  /** As in JSON and Redis: lower case. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  static QueryState of(String text) {
    return valueOf(text.toUpperCase(Locale.ROOT));
  }
}
