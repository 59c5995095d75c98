package io.tapline.control.query;

import java.util.ArrayList;
import java.util.List;

/**
 * A query as people see it.
 *
 * @param id names it everywhere
 * @param text as formatted
 * @param submittedNs wall clock, nanoseconds since the epoch; likewise the next two, 0 if not yet
 * @param error why it failed; empty otherwise
 * @param notes what its author should know: what it costs, what it leaves out
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

  /** The same with one more note, unless that is empty. */
  QueryInfo noting(String note) {
    if (note.isEmpty()) {
      return this;
    }
    List<String> more = new ArrayList<>(notes);
    more.add(note);
    return new QueryInfo(id, text, state, submittedNs, startedNs, endedNs, error, more);
  }
}
