package io.tapline.control.query;

import io.tapline.control.WallClock;
import java.util.ArrayList;
import java.util.List;

/**
 * A query.
 *
 * @param id the query's ID in every component
 * @param text the formatted query
 * @param submittedNs time of submission, in nanoseconds since the epoch
 * @param startedNs time at which it entered RUNNING; 0 before
 * @param endedNs time at which it ended; 0 before
 * @param error reason for its failure; empty otherwise
 * @param notes notes for its author, such as its cost and omissions
 */
public record QueryInfo(
    String id,
    String text,
    QueryState state,
    long submittedNs,
    long startedNs,
    long endedNs,
    String error,
    List<String> notes) {
  public QueryInfo {
    notes = List.copyOf(notes);
  }

  /** Returns a newly submitted query, with the current time as its submission time. */
  static QueryInfo submitted(String id, String text, List<String> notes) {
    return new QueryInfo(id, text, QueryState.SUBMITTED, WallClock.nowNs(), 0, 0, "", notes);
  }

  /** Returns a copy in another state, with the current time if that starts or ends the query. */
  QueryInfo in(QueryState next, String nextError) {
    long now = WallClock.nowNs();
    return new QueryInfo(
        id,
        text,
        next,
        submittedNs,
        next == QueryState.RUNNING ? now : startedNs,
        next.ended() ? now : 0,
        nextError,
        notes);
  }

  /** Returns this query as users see it. */
  QueryInfo shown() {
    QueryState seen = state.shown();
    return seen == state
        ? this
        : new QueryInfo(id, text, seen, submittedNs, startedNs, endedNs, error, notes);
  }

  /** Returns a copy with one more note, unless the note is empty. */
  QueryInfo noting(String note) {
    if (note.isEmpty()) {
      return this;
    }
    List<String> more = new ArrayList<>(notes);
    more.add(note);
    return new QueryInfo(id, text, state, submittedNs, startedNs, endedNs, error, more);
  }
}
