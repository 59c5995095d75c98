package io.tapline.compiler;

import com.google.protobuf.ByteString;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Names;
import io.tapline.conditions.Trees;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Literal;
import java.util.List;
import java.util.Optional;

/**
 * Words that are true or false for each tuple, so that matching tuples can be counted: fields of
 * type bool, and {@code half_seen}, which is true for partial tuples that are not unanswered.
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

  /** Returns the condition that a tuple must meet to count. REQUIRES: {@link #has}. */
  static ConditionTree condition(ParserInfo parser, Ast.Word word) {
    if (isHalfSeen(parser, word)) {
      Literal none = Literal.newBuilder().setText(ByteString.EMPTY).build();
      return Trees.and(
          List.of(Trees.not(isEqual("partial", none)), isEqual("unanswered", Trees.word("false"))));
    }
    return isEqual(flag(parser, word).orElseThrow().name(), Trees.word("true"));
  }

  private static ConditionTree isEqual(String field, Literal value) {
    return Trees.isOneOf(field, List.of(value));
  }
}
