package io.tapline.control.cli;

import io.tapline.control.query.WindowResult;
import java.util.TreeMap;

/**
 * Prints windows as they come: rows as JSON lines, or a table each. Of a window that is the whole
 * query only the last snapshot is a result: it is kept back until the end.
 */
final class WindowPrinter {
  private final Console console;
  private final ResultTables tables;
  private final boolean json;
  private final TreeMap<Integer, WindowResult> snapshots = new TreeMap<>();
  private boolean printed;

  WindowPrinter(Console console, ResultTables tables, boolean json) {
    this.console = console;
    this.tables = tables;
    this.json = json;
  }

  void print(WindowResult window) {
    if (tables.isWholeQuery(window)) {
      snapshots.put(window.processor(), window);
    } else {
      printNow(window);
    }
  }

  /** Prints a window that may be followed by a later snapshot of the same. */
  void printNow(WindowResult window) {
    if (json) {
      window.rows().forEach(row -> console.json(row));
    } else {
      console.print((printed ? "\n" : "") + tables.render(window));
    }
    console.flush();
    printed = true;
  }

  /** Prints what was kept back. */
  void end() {
    end("no packet matched the query, or none held what its parsers look for");
  }

  /** The same; says why, if there is nothing at all. */
  void end(String why) {
    snapshots.values().forEach(this::printNow);
    snapshots.clear();
    if (!printed && !json) {
      console.line("no results: " + why);
    }
  }
}
