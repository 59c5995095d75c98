package io.tapline.control.query;

/**
 * Thrown when the maximum number of queries is already running, or no more queries are accepted.
 */
public final class TooManyQueries extends Exception {
  private static final long serialVersionUID = 1L;

  TooManyQueries(String tenant, int maxQueries) {
    super(
        "%s has %d running queries, its maximum: stop one or wait for it to end"
            .formatted(tenant, maxQueries));
  }

  TooManyQueries(int maxQueries) {
    super(
        maxQueries
            + " queries are running, the maximum of this server: stop one, wait for it"
            + " to end, or start the server with a larger --most-queries");
  }
}
