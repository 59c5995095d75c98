package io.tapline.compiler.conditions;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Splits the text of a condition into tokens. */
public final class ConditionTokens {
  /** Maximum length of a condition in bytes of UTF-8. */
  static final int MAX_BYTES = 64 * 1024;

  /** The kind of a token. */
  public enum Kind {
    WORD,
    TEXT,
    SYMBOL,
    END
  }

  /**
   * A token.
   *
   * @param text the token's text; for a quoted string, without quotes and escapes
   * @param at byte offset at which it begins, in UTF-8
   * @param end byte offset after it
   */
  public record Token(Kind kind, String text, int at, int end) {}

  private static final String SPACES = " \t\r\n";
  private static final Set<String> PAIRS = Set.of("..", "==", "!=", "<=", ">=", "&&", "||");
  private static final String SYMBOLS = "=<>!()[]{},+-";

  private ConditionTokens() {}

  /**
   * Returns the tokens; the last one marks the end.
   *
   * @throws ConditionSyntaxException if the text is too long or contains an invalid token
   */
  public static List<Token> of(String text) throws ConditionSyntaxException {
    if (text.getBytes(StandardCharsets.UTF_8).length > MAX_BYTES) {
      throw new ConditionSyntaxException(MAX_BYTES, "longer than 64 KiB", "a shorter condition");
    }
    List<Token> tokens = new ArrayList<>();
    int position = 0;
    for (int begin = 0; begin < text.length(); ) {
      int end = end(text, begin, position);
      String token = text.substring(begin, end);
      int startPosition = position + token.getBytes(StandardCharsets.UTF_8).length;
      char first = token.charAt(0);
      if (first == '"') {
        tokens.add(new Token(Kind.TEXT, unquoted(token), position, startPosition));
      } else if (SPACES.indexOf(first) < 0) {
        boolean isWord = isOfWord(token.codePointAt(0)) && !token.equals("..");
        tokens.add(new Token(isWord ? Kind.WORD : Kind.SYMBOL, token, position, startPosition));
      }
      position = startPosition;
      begin = end;
    }
    tokens.add(new Token(Kind.END, "", position, position));
    return tokens;
  }

  /**
   * Returns the end of the token or space that begins at {@code begin}.
   *
   * @param position the same as a byte offset, for errors
   */
  private static int end(String text, int begin, int position) throws ConditionSyntaxException {
    char first = text.charAt(begin);
    if (PAIRS.contains(text.substring(begin, Math.min(begin + 2, text.length())))) {
      return begin + 2;
    } else if (isOfWord(text.codePointAt(begin))) {
      int end = begin;
      while (end < text.length()
          && isOfWord(text.codePointAt(end))
          && !text.startsWith("..", end)) {
        end += Character.charCount(text.codePointAt(end));
      }
      return end;
    } else if (first == '"') {
      int end = begin + 1;
      while (end < text.length() && text.charAt(end) != '"') {
        end += text.charAt(end) == '\\' ? 2 : 1;
      }
      if (end >= text.length()) {
        throw new ConditionSyntaxException(
            position, "the quoted string has no closing quote", "'\"'");
      }
      return end + 1;
    } else if (SPACES.indexOf(first) < 0 && SYMBOLS.indexOf(first) < 0) {
      throw new ConditionSyntaxException(
          position, "unexpected character", "a field, an operator or a value");
    }
    return begin + 1;
  }

  private static boolean isOfWord(int c) {
    return Character.isLetterOrDigit(c) || "_.:*/%".indexOf(c) >= 0;
  }

  /** Removes quotes and escapes: a backslash makes any character after it part of the text. */
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

  /** Quotes a string in the form that {@link #of} reads. */
  static String quoted(String text) {
    return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
  }
}
