package io.tapline.compiler;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The tokens of a filter, as conditions/expr/token.cc has them in C++. */
final class FilterTokens {
  /** Maximum length of a text in bytes of UTF-8. */
  static final int MAX_BYTES = 64 * 1024;

  enum Kind {
    WORD,
    TEXT,
    SYMBOL,
    END
  }

  /**
   * A token.
   *
   * @param text without quotes
   * @param at byte at which it begins
   */
  record Token(Kind kind, String text, int at) {}

  private static final String SPACES = " \t\r\n";
  private static final Set<String> PAIRS = Set.of("..", "==", "!=", "<=", ">=", "&&", "||");
  private static final String SYMBOLS = "=<>!()[]{},+-";

  private FilterTokens() {}

  /** Returns the tokens; the last is the end. */
  static List<Token> of(String text) throws FilterException {
    if (text.getBytes(StandardCharsets.UTF_8).length > MAX_BYTES) {
      throw new FilterException(MAX_BYTES, "longer than 64 KiB");
    }
    List<Token> tokens = new ArrayList<>();
    int bytes = 0;
    for (int begin = 0; begin < text.length(); ) {
      int end = end(text, begin, bytes);
      String token = text.substring(begin, end);
      char first = token.charAt(0);
      if (first == '"') {
        tokens.add(new Token(Kind.TEXT, token.substring(1, token.length() - 1), bytes));
      } else if (SPACES.indexOf(first) < 0) {
        boolean word = isOfWord(first) && !token.equals("..");
        tokens.add(new Token(word ? Kind.WORD : Kind.SYMBOL, token, bytes));
      }
      bytes += token.getBytes(StandardCharsets.UTF_8).length;
      begin = end;
    }
    tokens.add(new Token(Kind.END, "", bytes));
    return tokens;
  }

  /** Returns the end of the token that begins there. */
  private static int end(String text, int begin, int bytes) throws FilterException {
    char first = text.charAt(begin);
    if (PAIRS.contains(text.substring(begin, Math.min(begin + 2, text.length())))) {
      return begin + 2;
    } else if (isOfWord(first)) {
      int end = begin;
      while (end < text.length() && isOfWord(text.charAt(end)) && !text.startsWith("..", end)) {
        end++;
      }
      return end;
    } else if (first == '"') {
      int end = text.indexOf('"', begin + 1);
      if (end < 0) {
        throw new FilterException(bytes, "a quoted text without its end");
      }
      return end + 1;
    } else if (SPACES.indexOf(first) < 0 && SYMBOLS.indexOf(first) < 0) {
      throw new FilterException(bytes, "unexpected character");
    }
    return begin + 1;
  }

  private static boolean isOfWord(char c) {
    return c >= 'a' && c <= 'z'
        || c >= 'A' && c <= 'Z'
        || c >= '0' && c <= '9'
        || "_.:*/%".indexOf(c) >= 0;
  }
}
