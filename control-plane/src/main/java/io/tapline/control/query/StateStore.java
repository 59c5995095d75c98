package io.tapline.control.query;

import java.io.IOException;
import java.util.List;

/**
 * What a control plane has to know of queries that have not ended, to go on with them. Thread-safe.
 *
 * <p>One writer at a time: an implementation that outlives its process refuses one whose place
 * another has taken.
 */
public interface StateStore extends AutoCloseable {
  /**
   * Keeps a record in place of the query's one before.
   *
   * @throws IOException if it can't be kept, or another control plane leads
   */
  void put(QueryRecord query) throws IOException;

  /** Forgets a query; nothing happens if there is none. */
  void remove(String query) throws IOException;

  /** All that are kept, in the order in which they were submitted. */
  List<QueryRecord> queries() throws IOException;

  @Override
  void close();
}
