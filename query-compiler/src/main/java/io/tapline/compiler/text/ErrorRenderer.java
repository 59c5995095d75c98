package io.tapline.compiler.text;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Renders errors for users: the message, the line and a caret under the position.
 *
 * <pre>
 * query:1:7: unknown parser 'htp_get'
 *   PARSE htp_get FROM * TO h1:80
 *         ^~~~~~~
 *   expected: http_get, tcp_conn_time, …
 *   did you mean http_get?
 * </pre>
 */
public final class ErrorRenderer {
  /** Number of code points of a long line to show on either side of the position. */
  private static final int CONTEXT = 60;

  private ErrorRenderer() {}

  /**
   * Renders all errors of a query, separated by empty lines. Ends with a line feed unless there are
   * no errors.
   */
  public static String render(String text, List<QueryError> errors) {
    return errors.stream().map(error -> render(text, error)).collect(Collectors.joining("\n"));
  }

  /** Renders one error as multi-line text; every line ends with a line feed. */
  public static String render(String text, QueryError error) {
    StringBuilder out = new StringBuilder();
    out.append(
        "query:%d:%d: %s\n"
            .formatted(error.line(), error.column(), ReadableText.ofLines(error.message())));
    appendPlace(out, lineOf(text, error.line()), error);
    if (!error.expected().isEmpty()) {
      out.append("  expected: ").append(ReadableText.of(error.expected())).append('\n');
    }
    if (!error.suggestion().isEmpty()) {
      out.append("  did you mean ").append(ReadableText.of(error.suggestion())).append("?\n");
    }
    return out.toString();
  }

  private static void appendPlace(StringBuilder out, int[] line, QueryError error) {
    int column = Math.min(error.column() - 1, line.length);
    boolean fits = line.length <= 2 * CONTEXT;
    int begin = fits ? 0 : Math.max(0, column - CONTEXT);
    int end = fits ? line.length : Math.min(line.length, column + CONTEXT);
    if (begin == end) {
      return;
    }
    String previousText = begin > 0 ? "…" : "";
    out.append("  ").append(previousText);
    out.append(readable(line, begin, end)).append(end < line.length ? "…\n" : "\n");
    int underlined = Math.max(1, width(line, column, Math.min(column + error.length(), end)));
    out.append(" ".repeat(2 + previousText.length() + width(line, begin, column))).append('^');
    out.append("~".repeat(underlined - 1)).append('\n');
  }

  private static String readable(int[] line, int begin, int end) {
    return ReadableText.of(new String(line, begin, end - begin));
  }

  /** Returns the width of a line's part in terminal columns, assuming one per code point. */
  private static int width(int[] line, int begin, int end) {
    String shown = readable(line, begin, end);
    return shown.codePointCount(0, shown.length());
  }

  /** Returns the code points of a line, with spaces for tabs and U+FFFD for combining marks. */
  private static int[] lineOf(String text, int number) {
    int begin = 0;
    for (int line = 1; line < number && begin >= 0; line++) {
      begin = text.indexOf('\n', begin) + 1;
    }
    int end = text.indexOf('\n', begin);
    String line = text.substring(begin, end < 0 ? text.length() : end).stripTrailing();
    return line.codePoints().map(c -> c == '\t' ? ' ' : isMark(c) ? '\uFFFD' : c).toArray();
  }

  private static boolean isMark(int codePoint) {
    int type = Character.getType(codePoint);
    return (type == Character.NON_SPACING_MARK || type == Character.ENCLOSING_MARK)
        && !ReadableText.isEscaped(codePoint);
  }
}
