package io.tapline.compiler.text;

/**
 * Escapes text for display. Escapes characters that are invisible, or that change the order or line
 * breaks of others: <code>/&#92;u{202e}gpj.exe</code>. These are Unicode's control, format and
 * surrogate characters, line and paragraph separators, and characters that renderers ignore by
 * default, such as variation selectors. C++ and TypeScript have the same table;
 * schema/golden/readable_text.json verifies all three.
 */
public final class ReadableText {
  private static final int[][] ESCAPED = {
    {0x0, 0x1f},
    {0x7f, 0x9f},
    {0xad, 0xad},
    {0x34f, 0x34f},
    {0x600, 0x605},
    {0x61c, 0x61c},
    {0x6dd, 0x6dd},
    {0x70f, 0x70f},
    {0x890, 0x891},
    {0x8e2, 0x8e2},
    {0x115f, 0x1160},
    {0x17b4, 0x17b5},
    {0x180b, 0x180f},
    {0x200b, 0x200f},
    {0x2028, 0x202e},
    {0x2060, 0x206f},
    {0x3164, 0x3164},
    {0xd800, 0xdfff},
    {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},
    {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},
    {0x110bd, 0x110bd},
    {0x110cd, 0x110cd},
    {0x13430, 0x1343f},
    {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff}
  };

  private ReadableText() {}

  /** Returns one line, regardless of the text's contents. */
  public static String of(String text) {
    return shown(text, "");
  }

  /** Returns several lines: keeps line feeds and tabs. */
  public static String ofLines(String text) {
    return shown(text, "\n\t");
  }

  private static String shown(String text, String kept) {
    StringBuilder shown = new StringBuilder();
    text.codePoints()
        .forEach(
            codePoint -> {
              if (isEscaped(codePoint) && kept.indexOf(codePoint) < 0) {
                shown.append("\\u{").append(Integer.toHexString(codePoint)).append('}');
              } else {
                shown.appendCodePoint(codePoint);
              }
            });
    return shown.toString();
  }

  /** Returns true if a code point is escaped. */
  public static boolean isEscaped(int codePoint) {
    if (codePoint >= ' ' && codePoint < 0x7f) {
      return false;
    }
    int low = 0;
    int high = ESCAPED.length - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      if (codePoint > ESCAPED[middle][1]) {
        low = middle + 1;
      } else if (codePoint < ESCAPED[middle][0]) {
        high = middle - 1;
      } else {
        return true;
      }
    }
    return false;
  }
}
