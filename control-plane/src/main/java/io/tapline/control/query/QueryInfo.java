package io.tapline.control.query;

import java.util.ArrayList;
import java.util.List;

/**
 * A query as users see it.
 *
 * @param id the query's ID in every component
 * @param text the formatted query
 * @param submittedNs wall clock, nanoseconds since the epoch; so are the next two, 0 if not yet
 * @param error why it failed; empty otherwise
 * @param notes notes for its author: its cost, what it leaves out
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

  /** Returns this with one more note, unless the note is empty. */
  QueryInfo noting(String note) {
    if (note.isEmpty()) {
      return this;
    }
    List<String> more = new ArrayList<>(notes);
    more.add(note);
    return new QueryInfo(id, text, state, submittedNs, startedNs, endedNs, error, more);
  }
}
