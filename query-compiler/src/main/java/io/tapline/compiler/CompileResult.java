package io.tapline.compiler;

import io.tapline.compiler.text.Note;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.Plan;
import java.util.List;
import java.util.Optional;

/**
 * A plan or errors, with notes. There is a plan if and only if there are no errors.
 *
 * @param plan empty if the query is invalid
 * @param notes warnings and explanations; they may accompany errors
 * @param errors errors by position in the text
 */
public record CompileResult(Optional<Plan> plan, List<Note> notes, List<QueryError> errors) {
  public CompileResult {
    notes = List.copyOf(notes);
    errors = List.copyOf(errors);
    if (plan.isPresent() != errors.isEmpty()) {
      throw new IllegalArgumentException("a result must have either a plan or errors");
    }
  }

  static CompileResult wrong(List<Note> notes, List<QueryError> errors) {
    return new CompileResult(Optional.empty(), notes, errors);
  }
}
