package io.tapline.control.rest.http;

/** Ends a request with a problem. */
public final class ProblemException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient Problem problem;

  ProblemException(Problem problem) {
    // Omits the stack trace, because the exception becomes a response and is not logged.
    super(problem.detail(), null, false, false);
    this.problem = problem;
  }

  /** Returns the same problem with a location before its detail. */
  public ProblemException at(String place) {
    return new ProblemException(
        new Problem(
            problem.status(),
            problem.name(),
            problem.title(),
            place + problem.detail(),
            problem.headers(),
            problem.members()));
  }

  Problem problem() {
    return problem;
  }
}
