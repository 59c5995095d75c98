package io.tapline.control.query;

import java.io.IOException;
import java.util.List;

/**
 * The persistent state from which a control plane resumes queries that have not ended. Thread-safe.
 *
 * <p>There is one writer at a time: a store that outlives its process rejects writes by a control
 * plane that has been replaced.
 */
public interface StateStore extends AutoCloseable {
  /**
   * Stores a record in place of the query's previous one.
   *
   * @throws IOException if it can't be stored, or another control plane is the leader
   */
  void put(QueryRecord query) throws IOException;

  /** Removes a query's record, if there is one. */
  void remove(String query) throws IOException;

  /** Returns all records in the order of submission. */
  List<QueryRecord> queries() throws IOException;

  @Override
  void close();
}
