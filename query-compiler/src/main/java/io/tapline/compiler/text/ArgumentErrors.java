package io.tapline.compiler.text;

import java.util.List;

/** Reports errors in the values of parsers' and processors' arguments. */
public final class ArgumentErrors {
  private ArgumentErrors() {}

  /**
   * Reports a value of the wrong type.
   *
   * @param expected a kind and its range, with " from" between them: "a duration from 10ms to 24h"
   * @param suggestion replacement for the value; empty for none
   */
  public static void wrongType(
      Errors errors, String argument, Ast.Word value, String expected, String suggestion) {
    String kind = expected.substring(0, expected.indexOf(" from"));
    String message =
        "%s takes %s, but %s is %s"
            .formatted(argument, kind, Names.quoted(value.text()), Literals.kindOf(value.text()));
    errors.add(value.span(), QueryError.Code.TYPE, message, expected, suggestion);
  }

  /** Reports a value that is not one of the choices. */
  public static void unknownChoice(
      Errors errors, String argument, Ast.Word value, List<String> choices) {
    String message = "%s can't be %s".formatted(argument, Names.quoted(value.text()));
    String nearest = Names.nearest(value.text(), choices);
    errors.add(value.span(), QueryError.Code.TYPE, message, Names.either(choices), nearest);
  }
}
