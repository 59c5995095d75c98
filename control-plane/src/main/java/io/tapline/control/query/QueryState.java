package io.tapline.control.query;

import java.util.Locale;

/**
 * The state of a query.
 *
 * <pre>
 * SUBMITTED ─▶ STARTING ─▶ RUNNING ─▶ FINISHED        the capture or LIMIT ended
 *                  │           ├────▶ STOPPED         a user stopped it
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

  /** Returns the state as JSON and Redis have it: in lower case. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  static QueryState of(String text) {
    return valueOf(text.toUpperCase(Locale.ROOT));
  }
}
