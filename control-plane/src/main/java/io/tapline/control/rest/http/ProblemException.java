package io.tapline.control.rest.http;

/** Ends a request with a problem. */
public final class ProblemException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient Problem problem;

  ProblemException(Problem problem) {
    // Serves as a response, not for a log, so it has no stack trace.
    super(problem.detail(), null, false, false);
    this.problem = problem;
  }

  Problem problem() {
    return problem;
  }
}
