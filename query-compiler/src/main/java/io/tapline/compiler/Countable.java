package io.tapline.compiler;

import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Names;
import io.tapline.schema.proto.FieldCondition;
import java.util.List;
import java.util.Optional;

/**
 * Words that are true or false for a tuple, so that tuples can be counted by them: fields of type
 * bool, and {@code half_seen}, which holds for a tuple that lacks a half but is not unanswered.
 */
final class Countable {
  static final String HALF_SEEN = "half_seen";

  private Countable() {}

  static boolean has(ParserInfo parser, Ast.Word word) {
    return isHalfSeen(parser, word) || flag(parser, word).isPresent();
  }

  private static boolean isHalfSeen(ParserInfo parser, Ast.Word word) {
    return Names.same(HALF_SEEN, word.text()) && parser.knowsAnswers();
  }

  private static Optional<FieldInfo> flag(ParserInfo parser, Ast.Word word) {
    return Catalogue.field(parser, word.text()).filter(f -> f.type() == FieldInfo.Type.BOOL);
  }

  /** Returns the conditions that a tuple must meet to count. REQUIRES: {@link #has}. */
  static List<FieldCondition> conditions(ParserInfo parser, Ast.Word word) {
    if (isHalfSeen(parser, word)) {
      return List.of(
          condition(parser, "partial", FieldCondition.Operator.NOT_EQUAL, ""),
          condition(parser, "unanswered", FieldCondition.Operator.EQUAL, "false"));
    }
    String field = flag(parser, word).orElseThrow().name();
    return List.of(condition(parser, field, FieldCondition.Operator.EQUAL, "true"));
  }

  private static FieldCondition condition(
      ParserInfo parser, String field, FieldCondition.Operator operator, String value) {
    return FieldCondition.newBuilder()
        .setField(field)
        .addParsers(parser.name())
        .setOperator(operator)
        .addValues(value)
        .build();
  }
}
