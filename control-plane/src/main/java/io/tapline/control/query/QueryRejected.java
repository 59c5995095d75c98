package io.tapline.control.query;

import io.tapline.compiler.text.ErrorRenderer;
import io.tapline.compiler.text.QueryError;
import java.util.List;

/** Thrown when a query does not compile; its author has to fix it. */
public final class QueryRejected extends Exception {
  private static final long serialVersionUID = 1L;

  private final transient List<QueryError> errors;

  public QueryRejected(String text, List<QueryError> errors) {
    super(ErrorRenderer.render(text, errors));
    this.errors = List.copyOf(errors);
  }

  public List<QueryError> errors() {
    return errors;
  }

  /** Returns all errors with their lines and a mark under each position. */
  public String rendered() {
    return getMessage();
  }
}
