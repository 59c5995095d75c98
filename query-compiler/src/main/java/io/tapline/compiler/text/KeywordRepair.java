package io.tapline.compiler.text;

import io.tapline.compiler.text.grammar.TaplineQueryLexer;
import java.util.List;
import java.util.Set;
import org.antlr.v4.runtime.CommonToken;
import org.antlr.v4.runtime.Token;

/**
 * Finds, before parsing, keywords that the lexer read as words. Outside parentheses, a word
 * directly after another item is always an error, so {@code at}, which may be a name elsewhere, is
 * a keyword there. A word that resembles a keyword is reported and then treated as that keyword, so
 * that the rest of the query is still checked.
 */
final class KeywordRepair {
  /** Words of a condition that may precede another word. */
  private static final Set<String> OPERATORS = Set.of("and", "or", "not", "in", "like", "contains");

  private final Errors errors;
  private int depth = 0;
  private boolean afterItem = true;

  private KeywordRepair(Errors errors) {
    this.errors = errors;
  }

  /** Changes the types of tokens that are keywords, in place. */
  static void repair(List<Token> tokens, Errors errors) {
    KeywordRepair repair = new KeywordRepair(errors);
    for (Token token : tokens) {
      if (token.getChannel() == Token.DEFAULT_CHANNEL) {
        repair.visit((CommonToken) token);
      }
    }
  }

  private void visit(CommonToken token) {
    if (token.getType() == TaplineQueryLexer.WORD && depth == 0 && afterItem) {
      repair(token);
    }
    switch (token.getType()) {
      case TaplineQueryLexer.OPEN -> depth++;
      case TaplineQueryLexer.CLOSE -> depth = Math.max(0, depth - 1);
      default -> {}
    }
    afterItem =
        switch (token.getType()) {
          case TaplineQueryLexer.WORD -> !OPERATORS.contains(Names.lower(token.getText()));
          case TaplineQueryLexer.STRING,
              TaplineQueryLexer.STAR,
              TaplineQueryLexer.IPV6,
              TaplineQueryLexer.CLOSE,
              TaplineQueryLexer.CLOSE_BRACKET ->
              true;
          default -> false;
        };
  }

  private void repair(CommonToken token) {
    if (Names.lower(token.getText()).equals("at")) {
      token.setType(ClauseKind.AT.tokenType);
      return;
    }
    ClauseKind nearest = nearestKeyword(token.getText());
    if (nearest == null) {
      return;
    }
    String message = "unknown keyword " + Names.quoted(token.getText());
    String expected = Names.either(ClauseKind.KEYWORDS);
    errors.add(Tokens.span(token), QueryError.Code.SYNTAX, message, expected, nearest.keyword);
    token.setType(nearest.tokenType);
  }

  private static ClauseKind nearestKeyword(String text) {
    String word = Names.lower(text);
    for (int distance = 1; distance <= 2; distance++) {
      for (ClauseKind kind : ClauseKind.values()) {
        boolean isNear = distance * 2 <= kind.keyword.length() && distance * 2 < word.length();
        if (isNear
            && word.length() < 10
            && Names.distance(word, Names.lower(kind.keyword)) == distance) {
          return kind;
        }
      }
    }
    return null;
  }
}
