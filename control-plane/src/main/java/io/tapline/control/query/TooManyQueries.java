package io.tapline.control.query;

/** Thrown when the maximum number of queries is already running. */
public final class TooManyQueries extends Exception {
  private static final long serialVersionUID = 1L;

  TooManyQueries(String tenant, int most) {
    super(
        "%d queries of %s are running, as many as it may have at once: stop one or wait for it to end"
            .formatted(most, tenant));
  }

  TooManyQueries(int most) {
    super(
        most
            + " queries are running, which is as many as this server takes: stop one, wait for it"
            + " to end, or start the server with a larger --most-queries");
  }
}
