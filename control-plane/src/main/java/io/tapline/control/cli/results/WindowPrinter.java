package io.tapline.control.cli.results;

import io.tapline.control.cli.console.Console;
import io.tapline.control.query.WindowResult;
import java.util.TreeMap;

/**
 * Prints windows as they arrive: rows as JSON lines, or one table per window. If a window spans the
 * whole query, only its last snapshot is a result; it is printed at the end.
 */
public final class WindowPrinter {
  private final Console console;
  private final ResultTables tables;
  private final boolean json;
  private final TreeMap<Integer, WindowResult> snapshots = new TreeMap<>();
  private boolean printed;

  public WindowPrinter(Console console, ResultTables tables, boolean json) {
    this.console = console;
    this.tables = tables;
    this.json = json;
  }

  public void print(WindowResult window) {
    if (tables.isWholeQuery(window)) {
      snapshots.put(window.processor(), window);
    } else {
      printNow(window);
    }
  }

  /** Prints a window even if a later snapshot of it may follow. */
  public void printNow(WindowResult window) {
    if (json) {
      window.rows().forEach(row -> console.json(row));
    } else {
      console.print((printed ? "\n" : "") + tables.render(window));
    }
    console.flush();
    printed = true;
  }

  /** Prints the retained snapshots, or the likely reason if there are no results. */
  public void end() {
    end(
        tables.areOfTriggers()
            ? "no trigger raised an alert"
            : "no packet matched the query, or none contained data for its parsers");
  }

  /** Prints the retained snapshots, or this reason if there are no results. */
  public void end(String reason) {
    snapshots.values().forEach(this::printNow);
    snapshots.clear();
    if (!printed && !json) {
      console.line("no results: " + reason);
    }
  }
}
