package io.tapline.control.cli.console;

import io.tapline.compiler.text.ReadableText;
import java.util.ArrayList;
import java.util.List;

/** A table of text and numbers that fits a terminal. */
public final class TextTable {
  private static final String GAP = "  ";

  /**
   * Maximum width of any cell, even if the table's width is unlimited: an attacker's URL must not
   * fill the screen.
   */
  private static final int WIDEST = 200;

  /** Minimum width to which columns of text are narrowed. */
  private static final int NARROWEST = 16;

  /** The alignment of a column, and whether it may be narrowed. */
  public enum Kind {
    /** Left-aligned, narrowed if there is no room. */
    TEXT,
    /** Left-aligned, never narrowed, because a part of the value would mean something else. */
    NAME,
    /** Right-aligned, never narrowed. */
    NUMBER
  }

  /** One column. */
  public record Column(String header, Kind kind) {}

  private final List<Column> columns;
  private final int width;
  private final List<List<String>> rows = new ArrayList<>();

  /**
   * Creates an empty table.
   *
   * @param width width of the terminal; 0 for no limit
   */
  public TextTable(List<Column> columns, int width) {
    this.columns = List.copyOf(columns);
    this.width = width;
  }

  /** Returns a table of text without a width limit. */
  public static TextTable ofText(String... headers) {
    return new TextTable(
        List.of(headers).stream().map(header -> new Column(header, Kind.TEXT)).toList(), 0);
  }

  public void add(List<String> row) {
    rows.add(row.stream().map(TextTable::printable).toList());
  }

  /** Returns true if the table has no rows. */
  public boolean isEmpty() {
    return rows.isEmpty();
  }

  /** Returns one line that is safe to print, regardless of the bytes in the traffic. */
  private static String printable(String text) {
    return cut(ReadableText.of(cut(text, WIDEST)), WIDEST);
  }

  /**
   * Returns the table; every line is indented and ends with a line feed. If narrowing columns of
   * text is not sufficient, the last columns are omitted, and a line names them.
   */
  public String render(String indent) {
    List<String> headers = columns.stream().map(Column::header).toList();
    int[] widths = new int[columns.size()];
    widen(widths, headers);
    rows.forEach(row -> widen(widths, row));
    int shown = fit(widths, width - length(indent));
    StringBuilder out = new StringBuilder();
    append(out, indent, headers, widths, shown);
    rows.forEach(row -> append(out, indent, row, widths, shown));
    if (shown < headers.size()) {
      String missing = String.join(", ", headers.subList(shown, headers.size()));
      out.append(indent).append("(no room for: ").append(missing).append(")\n");
    }
    return out.toString();
  }

  private static void widen(int[] widths, List<String> row) {
    for (int i = 0; i < widths.length; i++) {
      widths[i] = Math.max(widths[i], length(row.get(i)));
    }
  }

  /** Narrows columns of text until the table fits; returns the number of columns that fit. */
  private int fit(int[] widths, int max) {
    int shown = widths.length;
    while (width > 0 && total(widths, shown) > max && shown > 1) {
      int widest = widestText(widths, shown);
      if (widest < 0) {
        shown--;
      } else {
        widths[widest]--;
      }
    }
    return shown;
  }

  private static int total(int[] widths, int shown) {
    int total = GAP.length() * (shown - 1);
    for (int i = 0; i < shown; i++) {
      total += widths[i];
    }
    return total;
  }

  /** Returns the index of the widest column that can still be narrowed; -1 if none can. */
  private int widestText(int[] widths, int shown) {
    int widest = -1;
    for (int i = 0; i < shown; i++) {
      boolean canBeCut = columns.get(i).kind() == Kind.TEXT && widths[i] > NARROWEST;
      if (canBeCut && (widest < 0 || widths[i] > widths[widest])) {
        widest = i;
      }
    }
    return widest;
  }

  private void append(StringBuilder out, String indent, List<String> row, int[] widths, int shown) {
    StringBuilder line = new StringBuilder(indent);
    for (int i = 0; i < shown; i++) {
      String cell = cut(row.get(i), widths[i]);
      String padding = " ".repeat(widths[i] - length(cell));
      line.append(i == 0 ? "" : GAP);
      line.append(columns.get(i).kind() == Kind.NUMBER ? padding + cell : cell + padding);
    }
    out.append(line.toString().stripTrailing()).append('\n');
  }

  private static String cut(String text, int length) {
    return length(text) <= length
        ? text
        : text.substring(0, text.offsetByCodePoints(0, length - 1)) + "…";
  }

  private static int length(String text) {
    return text.codePointCount(0, text.length());
  }
}
