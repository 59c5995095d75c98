package io.tapline.compiler;

import io.tapline.compiler.conditions.ConditionParser;
import io.tapline.compiler.conditions.ConditionSyntaxException;
import io.tapline.compiler.conditions.ConditionTokens;
import io.tapline.compiler.conditions.ConditionTokens.Kind;
import io.tapline.compiler.conditions.ConditionTokens.Token;
import io.tapline.compiler.conditions.Vocabulary;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.compiler.text.Span;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Field;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Term;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.stream.Stream;

/**
 * A parsed condition on tuples, with names that are not resolved yet.
 *
 * @param tree condition; its fields are words that may be fields, hosts or strings
 * @param spans maps a byte offset in the text to the position of the part that begins there
 */
record ParsedCondition(ConditionTree tree, IntFunction<Span> spans) {

  /** Parses WHERE; reports an error and returns nothing if it is not a condition. */
  static Optional<ParsedCondition> of(Ast.Condition condition, Errors errors) {
    try {
      ConditionTree tree = ConditionParser.parse(condition.text(), new Vocabulary.Any());
      List<Token> tokens = ConditionTokens.of(condition.text());
      return Optional.of(new ParsedCondition(tree, position -> span(condition, tokens, position)));
    } catch (ConditionSyntaxException e) {
      boolean atEnd = e.at() == condition.text().getBytes(StandardCharsets.UTF_8).length;
      Span span = atEnd ? condition.next().span() : span(condition, e.at(), e.end());
      String message = atEnd ? found(condition.next()) : e.getMessage();
      errors.add(span, QueryError.Code.SYNTAX, message, e.expected(), "");
      return Optional.empty();
    }
  }

  private static String found(Ast.Word next) {
    return next.source().equals(Ast.END)
        ? "the query is incomplete"
        : "unexpected " + Names.quoted(next.text());
  }

  /**
   * Parses a condition within an argument. The grammar treats the argument as one word, so all
   * parts have its position. Returns nothing if it is not a condition.
   */
  static Optional<ParsedCondition> within(Ast.Word argument, String text) {
    try {
      ConditionTree tree = ConditionParser.parse(text, new Vocabulary.Any());
      return tree.getNodesCount() == 0
          ? Optional.empty()
          : Optional.of(new ParsedCondition(tree, position -> argument.span()));
    } catch (ConditionSyntaxException e) {
      return Optional.empty();
    }
  }

  /** Returns the span from a byte to the end of its word or token. */
  private static Span span(Ast.Condition condition, List<Token> tokens, int position) {
    int i = 0;
    while (tokens.get(i).end() <= position && tokens.get(i).kind() != Kind.END) {
      i++;
    }
    int end = tokens.get(i).end();
    boolean isWord = tokens.get(i).kind() == Kind.WORD;
    for (i++; isWord && tokens.get(i).at() == end && isOfWord(tokens.get(i)); i++) {
      end = tokens.get(i).end();
    }
    return span(condition, position, end);
  }

  private static boolean isOfWord(Token token) {
    return token.kind() == Kind.WORD || token.text().equals("-");
  }

  /** Returns the span of a range of bytes. */
  private static Span span(Ast.Condition condition, int position, int end) {
    byte[] text = condition.text().getBytes(StandardCharsets.UTF_8);
    String previousText = new String(text, 0, position, StandardCharsets.UTF_8);
    String part =
        new String(text, position, Math.max(position, end) - position, StandardCharsets.UTF_8);
    int line = (int) previousText.chars().filter(c -> c == '\n').count();
    String sameLine = previousText.substring(previousText.lastIndexOf('\n') + 1);
    int column = sameLine.codePointCount(0, sameLine.length());
    return new Span(
        condition.begin().line() + line,
        (line == 0 ? condition.begin().column() : 1) + column,
        Math.max(1, part.codePointCount(0, part.length())));
  }

  /** Returns the words that must be fields, in order. */
  List<Ast.Word> fields() {
    return fields(tree);
  }

  /** Returns the words in a part of the condition that must be fields. */
  List<Ast.Word> fields(ConditionTree part) {
    return part.getNodesList().stream().flatMap(ParsedCondition::required).map(this::word).toList();
  }

  /** Returns the fields that a node names in places that only allow fields. */
  static Stream<Field> required(Node node) {
    return switch (node.getKindCase()) {
      case PRESENT -> Stream.of(node.getPresent());
      case MEMBERSHIP -> Stream.of(node.getMembership().getField());
      default -> {
        List<Term> left = node.getComparison().getLeftList();
        boolean mirrored = left.stream().noneMatch(Term::hasField);
        yield (mirrored ? node.getComparison().getRightList() : left)
            .stream().filter(Term::hasField).map(Term::getField);
      }
    };
  }

  private Ast.Word word(Field field) {
    return new Ast.Word(field.getName(), field.getName(), spans.apply(field.getAt()));
  }

  /** Returns the number of comparisons. */
  int size() {
    return (int) tree.getNodesList().stream().filter(ParsedCondition::isLeaf).count();
  }

  /** Returns the position of a comparison. */
  Span span(int number) {
    return tree.getNodesList().stream()
        .filter(ParsedCondition::isLeaf)
        .skip(number)
        .map(leaf -> spans.apply(leaf.getAt()))
        .findFirst()
        .orElseThrow();
  }

  private static boolean isLeaf(Node node) {
    return node.hasComparison() || node.hasMembership() || node.hasPresent();
  }
}
