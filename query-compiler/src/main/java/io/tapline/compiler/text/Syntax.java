package io.tapline.compiler.text;

import io.tapline.compiler.text.grammar.TaplineQueryLexer;
import io.tapline.compiler.text.grammar.TaplineQueryParser;
import java.util.List;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CommonTokenStream;
import org.antlr.v4.runtime.Token;

/**
 * A parsed text.
 *
 * @param query the part that could be parsed
 * @param tokens all tokens, including comments
 */
public record Syntax(Ast.Query query, List<Token> tokens) {
  /** Maximum length of a query in UTF-16 units. */
  public static final int LONGEST = 64 * 1024;

  /** Parses a query in linear time; errors go to {@code errors}. */
  public static Syntax read(String text, Errors errors) {
    return read(text, 1, errors);
  }

  /**
   * Parses a query whose first line has this number.
   *
   * @param firstLine above 1 for a named query, in which clauses may be missing
   */
  public static Syntax read(String text, int firstLine, Errors errors) {
    if (text.length() > LONGEST) {
      String message = "the query has %d characters".formatted(text.length());
      errors.add(new Span(1, 1, 1), QueryError.Code.TOO_LARGE, message, "at most " + LONGEST, "");
      return read("", new Errors());
    }
    TaplineQueryLexer lexer = new TaplineQueryLexer(CharStreams.fromString(wellFormed(text)));
    lexer.removeErrorListeners();
    lexer.setLine(firstLine);
    CommonTokenStream tokens = new CommonTokenStream(lexer);
    tokens.fill();
    KeywordRepair.repair(tokens.getTokens(), errors);
    TaplineQueryParser parser = new TaplineQueryParser(tokens);
    parser.removeErrorListeners();
    parser.setErrorHandler(new SyntaxErrorStrategy(errors));
    TaplineQueryParser.QueryContext tree = parser.query();
    boolean understood = !errors.any();
    Ast.Query query = AstBuilder.build(tree, tokens.getTokens(), errors);
    if (understood && firstLine == 1 && query.use() == null) {
      MissingClauses.check(query, errors);
    }
    return new Syntax(query, tokens.getTokens());
  }

  /** Returns a clause as written, with spaces for comments; empty if it is missing. */
  public String clauseText(ClauseKind kind) {
    return query.clauses().stream()
        .filter(clause -> clause.kind() == kind)
        .map(clause -> Tokens.text(tokens.subList(clause.firstToken(), clause.lastToken() + 1)))
        .findFirst()
        .orElse("");
  }

  /** Replaces unpaired surrogates, which are not characters, with U+FFFD. */
  private static String wellFormed(String text) {
    boolean isPlain = true;
    for (int i = 0; i < text.length() && isPlain; i++) {
      isPlain = !Character.isSurrogate(text.charAt(i));
    }
    if (isPlain) {
      return text;
    }
    int[] codePoints =
        text.codePoints()
            .map(c -> Character.getType(c) == Character.SURROGATE ? 0xFFFD : c)
            .toArray();
    return new String(codePoints, 0, codePoints.length);
  }
}
