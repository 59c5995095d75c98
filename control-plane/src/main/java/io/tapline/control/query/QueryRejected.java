package io.tapline.control.query;

import io.tapline.compiler.ErrorRenderer;
import io.tapline.compiler.QueryError;
import java.util.List;

/** A query that can't be compiled: its author's to mend. */
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

  /** All errors with their lines and a mark under the place. */
  public String rendered() {
    return getMessage();
  }
}
