package io.tapline.control.query;

/**
 * A query's state in the format of records: the state that users see, and how far the query has
 * advanced. Its names are part of the stored format.
 *
 * @param shown the state that users see; once the query ends, how it ends
 */
record StoredState(QueryState shown, Step step) {
  /** The progress of a query. */
  enum Step {
    SUBMITTED,
    PLACED,
    MIRRORING,
    RUNNING,
    /** The query's end is recorded; its resources are being released. */
    ENDING
  }

  static StoredState of(QueryState state) {
    Step step =
        switch (state) {
          case SUBMITTED, STARTING -> Step.SUBMITTED;
          case PLACED -> Step.PLACED;
          case MIRRORING -> Step.MIRRORING;
          case RUNNING -> Step.RUNNING;
          case FINISHED, STOPPED, FAILED -> Step.ENDING;
        };
    return new StoredState(state.shown(), step);
  }

  /**
   * Returns the state. Earlier versions stored a new step before the new state, so a query stored
   * as STARTING with step RUNNING is still MIRRORING. A query that was ending with an unknown
   * outcome counts as FAILED.
   */
  QueryState state() {
    if (step == Step.ENDING && !shown.ended()) {
      return QueryState.FAILED;
    }
    return shown != QueryState.STARTING
        ? shown
        : switch (step) {
          case SUBMITTED -> QueryState.STARTING;
          case PLACED -> QueryState.PLACED;
          default -> QueryState.MIRRORING;
        };
  }
}
