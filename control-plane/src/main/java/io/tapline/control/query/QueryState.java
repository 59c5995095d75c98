package io.tapline.control.query;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The state of a query, which only advances. A control plane that resumes a query may repeat the
 * work of the query's current state.
 *
 * <pre>
 * SUBMITTED ─▶ STARTING ─▶ PLACED ─▶ MIRRORING ─▶ RUNNING ─▶ FINISHED    the capture or LIMIT ended
 *                  topic, job   monitors   rules        ├────▶ STOPPED     a user stopped it
 *                  └───────────┴──────────┴─────────────┴────▶ FAILED      with an error
 * </pre>
 */
public enum QueryState {
  /** Accepted: its resources in the network are reserved. */
  SUBMITTED,
  /** Its topic and its job are being created. */
  STARTING,
  /** Its topic and its job exist; monitors are being assigned. */
  PLACED,
  /** Its monitors capture; switches are being programmed. */
  MIRRORING,
  /** Monitors receive its packets. */
  RUNNING,
  FINISHED,
  STOPPED,
  FAILED;

  public boolean ended() {
    return this == FINISHED || this == STOPPED || this == FAILED;
  }

  /** Returns the state that users see, which does not show the progress of a start. */
  QueryState shown() {
    return this == PLACED || this == MIRRORING ? STARTING : this;
  }

  /** Returns the states that users see. */
  public static List<QueryState> allShown() {
    return Arrays.stream(values()).filter(state -> state.shown() == state).toList();
  }

  /** Returns the state that users see, in lower case as in JSON and Redis. */
  public String text() {
    return shown().name().toLowerCase(Locale.ROOT);
  }

  static QueryState of(String text) {
    return valueOf(text.toUpperCase(Locale.ROOT));
  }
}
