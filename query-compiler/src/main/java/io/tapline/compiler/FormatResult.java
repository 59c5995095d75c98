package io.tapline.compiler;

import io.tapline.compiler.text.QueryError;
import java.util.List;

/**
 * A query in canonical layout, or the errors that prevent it.
 *
 * @param text empty if there are errors; ends without a line feed
 * @param errors errors of syntax, values and ranges; names of parsers, fields and hosts are not
 *     resolved
 */
public record FormatResult(String text, List<QueryError> errors) {
  public FormatResult {
    errors = List.copyOf(errors);
  }
}
