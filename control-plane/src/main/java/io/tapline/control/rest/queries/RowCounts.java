package io.tapline.control.rest.queries;

import io.tapline.control.query.QueryService;
import io.tapline.control.query.WindowResult;
import io.tapline.control.rest.http.Entry;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Counts the rows in each kept window of a query, so that requests for the latest rows need not
 * read the earlier windows. Each window is read once to be counted; only the most recently
 * requested queries are remembered. Thread-safe.
 */
final class RowCounts {
  private static final int MAX_QUERIES = 128;

  private final QueryService queries;
  private final Map<String, QueryCounts> counted =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, QueryCounts> eldest) {
          return size() > MAX_QUERIES;
        }
      };

  RowCounts(QueryService queries) {
    this.queries = queries;
  }

  /**
   * The windows that a request can skip.
   *
   * @param last entry of the last such window; the request's cursor if there is none
   * @param rows number of rows in these windows
   */
  record Skip(String last, long rows) {}

  /** Returns the windows after an entry that precede the latest rows of these processors. */
  Skip beforeLatest(String query, String cursor, Set<Integer> processors, int rows) {
    QueryCounts one;
    synchronized (counted) {
      one = counted.computeIfAbsent(query, ignored -> new QueryCounts());
    }
    return one.beforeLatest(query, cursor, processors, rows);
  }

  private record Window(String entry, int processor, int rows) {}

  private final class QueryCounts {
    private final Deque<Window> windows = new ArrayDeque<>();
    private String last = "";

    synchronized Skip beforeLatest(String query, String cursor, Set<Integer> wanted, int rows) {
      count(query);
      long seen = 0;
      String skipped = cursor;
      long omitted = 0;
      for (Iterator<Window> back = windows.descendingIterator(); back.hasNext(); ) {
        Window window = back.next();
        if (!Entry.isBefore(cursor, window.entry())) {
          break;
        }
        if (seen >= rows && skipped.equals(cursor)) {
          skipped = window.entry();
        }
        long own = wanted.contains(window.processor()) ? window.rows() : 0;
        omitted += seen >= rows ? own : 0;
        seen += own;
      }
      return new Skip(skipped, omitted);
    }

    private void count(String query) {
      for (List<WindowResult> page = queries.results().windowsAfter(query, last);
          !page.isEmpty();
          page = queries.results().windowsAfter(query, last)) {
        for (WindowResult window : page) {
          windows.add(new Window(window.entry(), window.processor(), window.rows().size()));
          last = window.entry();
        }
      }
      // The oldest windows are dropped from the stream as new ones arrive.
      for (long kept = queries.results().windowCount(query); windows.size() > kept; ) {
        windows.remove();
      }
    }
  }
}
