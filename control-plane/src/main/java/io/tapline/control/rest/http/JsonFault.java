package io.tapline.control.rest.http;

import io.tapline.compiler.text.ReadableText;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The position of the first token that makes a string invalid JSON (RFC 8259) or repeats a name,
 * with the expected and the found token.
 *
 * @param line line, from 1
 * @param column column, from 1, in code points
 * @param expected user-facing description of the expected token
 * @param found user-facing description of the found token
 */
record JsonFault(int line, int column, String expected, String found) {
  /** The parser's maximum depth. */
  static final int MAX_LEVELS = 1_000;

  private static final int SHOWN_CHARACTERS = 20;

  /** Returns the first fault; empty if there is none. */
  static Optional<JsonFault> find(String text) {
    try {
      new Scanner(text).scan();
      return Optional.empty();
    } catch (UnexpectedToken e) {
      return Optional.of(at(text, e));
    }
  }

  private static JsonFault at(String text, UnexpectedToken e) {
    String previousText = text.substring(0, e.at);
    int lineStart = previousText.lastIndexOf('\n') + 1;
    int line = 1 + (int) previousText.chars().filter(c -> c == '\n').count();
    int column = 1 + previousText.codePointCount(lineStart, e.at);
    return new JsonFault(line, column, e.getMessage(), found(text, e.at));
  }

  private static String found(String text, int position) {
    if (position >= text.length()) {
      return "the end of the text";
    }
    int end = position + Character.charCount(text.codePointAt(position));
    if (Character.isLetterOrDigit(text.charAt(position))) {
      while (end < text.length()
          && end - position < SHOWN_CHARACTERS
          && Character.isLetterOrDigit(text.charAt(end))) {
        end++;
      }
    }
    return "'" + ReadableText.of(text.substring(position, end)) + "'";
  }

  /** Signals an unexpected token. */
  private static final class UnexpectedToken extends Exception {
    private static final long serialVersionUID = 1L;

    private final int at;

    UnexpectedToken(int position, String expected) {
      super(expected, null, false, false);
      this.at = position;
    }
  }

  /** Scans a string once, without recursion: deep nesting could exhaust the stack. */
  private static final class Scanner {
    private static final Pattern NUMBER =
        Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?(?![\\w.+-])");
    private static final Pattern WORD = Pattern.compile("(true|false|null)(?!\\w)");
    private static final Pattern ESCAPE = Pattern.compile("\\\\([\"\\\\/bfnrt]|u[0-9a-fA-F]{4})");

    private final String text;

    /** Marker of an open array, which has no names. */
    private static final Set<String> ARRAY = Set.of();

    /** The names so far in each open object, or ARRAY for an open array, innermost first. */
    private final Deque<Set<String>> open = new ArrayDeque<>();

    private int at;

    Scanner(String text) {
      this.text = text;
    }

    void scan() throws UnexpectedToken {
      value("a value");
      while (!open.isEmpty()) {
        boolean isArray = open.peek() == ARRAY;
        char end = isArray ? ']' : '}';
        if (next(end)) {
          open.pop();
        } else if (next(',')) {
          item(isArray, isArray ? "another value" : "another name in double quotes");
        } else {
          throw new UnexpectedToken(at, "',' or '" + end + "'");
        }
      }
      space();
      if (at < text.length()) {
        throw new UnexpectedToken(at, "nothing more");
      }
    }

    /** Scans a value to its end; for a nonempty object or array, up to its first item. */
    private void value(String expected) throws UnexpectedToken {
      String wanted = expected;
      while (true) {
        if (next('{')) {
          enter(new HashSet<>());
          if (next('}')) {
            open.pop();
            return;
          }
          name("a name in double quotes or '}'");
          wanted = "a value";
        } else if (next('[')) {
          enter(ARRAY);
          if (next(']')) {
            open.pop();
            return;
          }
          wanted = "a value or ']'";
        } else {
          scalar(wanted);
          return;
        }
      }
    }

    private void enter(Set<String> names) throws UnexpectedToken {
      if (open.size() == MAX_LEVELS) {
        throw new UnexpectedToken(
            at - 1, "at most %,d levels of objects and arrays".formatted(MAX_LEVELS));
      }
      open.push(names);
    }

    private void item(boolean isArray, String expected) throws UnexpectedToken {
      if (!isArray) {
        name(expected);
      }
      value(isArray ? expected : "a value");
    }

    private void name(String expected) throws UnexpectedToken {
      space();
      int begin = at;
      if (!string()) {
        throw new UnexpectedToken(at, expected);
      } else if (!open.peek().add(text.substring(begin, at))) {
        throw new UnexpectedToken(begin, "each name once in an object");
      } else if (!next(':')) {
        throw new UnexpectedToken(at, "':'");
      }
    }

    private void scalar(String expected) throws UnexpectedToken {
      space();
      if (string() || skip(WORD)) {
        return;
      }
      boolean isNumber = at < text.length() && "-0123456789".indexOf(text.charAt(at)) >= 0;
      if (!isNumber) {
        throw new UnexpectedToken(at, expected);
      } else if (!skip(NUMBER)) {
        throw new UnexpectedToken(at, "a number such as 12, -0.5 or 1e9");
      }
    }

    private boolean string() throws UnexpectedToken {
      if (at >= text.length() || text.charAt(at) != '"') {
        return false;
      }
      at++;
      while (at < text.length() && text.charAt(at) != '"') {
        char c = text.charAt(at);
        if (c < ' ') {
          throw new UnexpectedToken(at, "'\"' at the string's end, or an escape such as \\n in it");
        } else if (c != '\\') {
          at++;
        } else if (!skip(ESCAPE)) {
          throw new UnexpectedToken(
              at, "\\\", \\\\, \\/, \\b, \\f, \\n, \\r, \\t, or \\u and four digits");
        }
      }
      if (at == text.length()) {
        throw new UnexpectedToken(at, "'\"' at the string's end");
      }
      at++;
      return true;
    }

    private boolean skip(Pattern pattern) {
      Matcher matcher = pattern.matcher(text).region(at, text.length()).useTransparentBounds(true);
      boolean isMatched = matcher.lookingAt();
      at = isMatched ? matcher.end() : at;
      return isMatched;
    }

    private boolean next(char c) {
      space();
      boolean isMatched = at < text.length() && text.charAt(at) == c;
      at += isMatched ? 1 : 0;
      return isMatched;
    }

    private void space() {
      while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
        at++;
      }
    }
  }
}
