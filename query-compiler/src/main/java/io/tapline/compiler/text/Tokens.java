package io.tapline.compiler.text;

import java.util.List;
import org.antlr.v4.runtime.CharStream;
import org.antlr.v4.runtime.Token;
import org.antlr.v4.runtime.misc.Interval;

/** Converts tokens to spans and words. */
final class Tokens {
  private Tokens() {}

  /** Returns the token's position; the position of its first line if it spans several. */
  static Span span(Token token) {
    if (token.getType() == Token.EOF) {
      return new Span(token.getLine(), token.getCharPositionInLine() + 1, 1);
    }
    String text = token.getText();
    int lineEnd = text.indexOf('\n');
    String first = lineEnd < 0 ? text : text.substring(0, lineEnd);
    int length = Math.max(1, first.codePointCount(0, first.length()));
    return new Span(token.getLine(), token.getCharPositionInLine() + 1, length);
  }

  /**
   * Returns the span from the beginning of the first token to the end of the last, if they share a
   * line; else that of the first token.
   */
  static Span span(Token first, Token last) {
    Span begin = span(first);
    Span end = span(last);
    return begin.line() == end.line() && end.column() >= begin.column()
        ? new Span(begin.line(), begin.column(), end.column() + end.length() - begin.column())
        : begin;
  }

  /** Returns the text of adjoining tokens as written, with spaces in place of comments. */
  static String text(List<Token> tokens) {
    int first = tokens.get(0).getStartIndex();
    int last = tokens.get(tokens.size() - 1).getStopIndex();
    CharStream input = tokens.get(0).getInputStream();
    int[] text = input.getText(Interval.of(first, last)).codePoints().toArray();
    for (Token token : tokens) {
      for (int i = token.getStartIndex(); i <= token.getStopIndex(); i++) {
        boolean comment = token.getChannel() != Token.DEFAULT_CHANNEL && text[i - first] != '\n';
        text[i - first] = comment ? ' ' : text[i - first];
      }
    }
    return new String(text, 0, text.length);
  }

  static Ast.Word word(Token token) {
    String source = token.getText();
    return new Ast.Word(source.startsWith("\"") ? unquoted(source) : source, source, span(token));
  }

  private static String unquoted(String source) {
    StringBuilder text = new StringBuilder();
    for (int i = 1; i < source.length() - 1; i++) {
      if (source.charAt(i) == '\\') {
        i++;
      }
      text.append(source.charAt(i));
    }
    return text.toString();
  }
}
