package io.tapline.flink.results;

import io.tapline.flink.QuerySpec;
import io.tapline.flink.accounting.Accounts;
import io.tapline.flink.accounting.Counters;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * Encodes updates as calls of the Redis Functions in tapline.lua: function, number of keys, keys,
 * arguments. schema/redis.md describes keys, types and fields.
 */
public final class RedisCalls {
  private final QuerySpec query;
  private final int windowsKept;

  public RedisCalls(QuerySpec query, int windowsKept) {
    this.query = query;
    this.windowsKept = windowsKept;
  }

  private String key(String suffix) {
    return "tapline:query:" + query.query() + ":" + suffix;
  }

  /** Returns the call that applies an update atomically. */
  public String[] of(Update update) throws IOException {
    if (update instanceof WindowUpdate window) {
      return window.processor(query).trigger() == null ? window(window) : alerts(window);
    }
    return totals(((Update.Totals) update).accounts());
  }

  private String[] window(WindowUpdate update) throws IOException {
    int processor = update.window().processor();
    List<String> call = new ArrayList<>(List.of("tapline_window", "4"));
    call.add(key("last:" + processor));
    call.add(key("ranking:" + processor));
    call.add(key("groups:" + processor));
    call.add(key("windows"));
    addHeader(call, update, List.of(key("events")));
    addRows(call, update, RedisCalls::score);
    return call.toArray(String[]::new);
  }

  /** Returns the call for the alerts that begin or end with a window. */
  private String[] alerts(WindowUpdate update) throws IOException {
    int processor = update.window().processor();
    List<String> call = new ArrayList<>(List.of("tapline_alerts", "3"));
    call.add(key("last:" + processor));
    call.add(key("alerts:" + processor));
    call.add(key("windows"));
    addHeader(call, update, List.of(key("events"), key("alerts")));
    addRows(call, update, row -> row.change().begins() ? "raised" : "cleared");
    return call.toArray(String[]::new);
  }

  private void addHeader(List<String> call, WindowUpdate update, List<String> channels)
      throws IOException {
    WindowRows window = update.window();
    call.add(padded(window.endNs()));
    call.add(Integer.toString(windowsKept));
    call.addAll(channels);
    call.add(Integer.toString(window.processor()));
    call.add(update.processor(query).name());
    call.add(Long.toString(window.startNs()));
    call.add(Long.toString(window.endNs()));
    call.add(update.completeness(query));
  }

  /** Adds each row's key, second column (score or state) and JSON. */
  private void addRows(List<String> call, WindowUpdate update, Function<ResultRow, String> second)
      throws IOException {
    List<String> json = update.rows(query, call.get(call.size() - 1));
    for (int i = 0; i < json.size(); i++) {
      ResultRow row = update.window().rows().get(i);
      call.add(KeyText.of(row.key()));
      call.add(second.apply(row));
      call.add(json.get(i));
    }
  }

  /** Returns a row's score; empty if there is no value, since zero would be a value. */
  private static String score(ResultRow row) {
    double number = row.value().number();
    return Double.isNaN(number) ? "" : Double.toString(number).replace("Infinity", "inf");
  }

  /** Returns the call for the query's totals so far. */
  private String[] totals(Accounts accounts) throws IOException {
    long late = 0;
    long reused = 0;
    long unanswered = 0;
    long halfSeen = 0;
    Counters dropped = new Counters();
    dropped.add(accounts.dropped());
    for (int i = 0; i < accounts.processors(); i++) {
      late = Math.max(late, accounts.processor(i).late());
      reused = Math.max(reused, accounts.processor(i).reused());
      unanswered = Math.max(unanswered, accounts.processor(i).unanswered());
      halfSeen = Math.max(halfSeen, accounts.processor(i).halfSeen());
      dropped.add(accounts.processor(i).dropped());
    }
    return new String[] {
      "tapline_totals",
      "1",
      key("totals"),
      padded(accounts.records()),
      "packets_in",
      Long.toString(accounts.packetsIn()),
      "packets_out",
      Long.toString(accounts.packetsOut()),
      "bytes_in",
      Long.toString(accounts.bytesIn()),
      "tuples_in",
      Long.toString(accounts.tuplesIn()),
      "tuples",
      Long.toString(accounts.tuples()),
      "late",
      Long.toString(late),
      "reused",
      Long.toString(reused),
      "unanswered",
      Long.toString(unanswered),
      "half_seen",
      Long.toString(halfSeen),
      "duplicates",
      Long.toString(accounts.duplicates()),
      "clock_steps",
      Long.toString(accounts.clockSteps()),
      "packets_polled",
      Long.toString(accounts.packetsPolled()),
      "sampling_rate",
      Double.toString(accounts.samplingRate()),
      "dropped",
      Json.dropped(dropped)
    };
  }

  /**
   * Pads a number to 20 digits, so that strings sort like the numbers. Lua's numbers are doubles,
   * which are exact only up to 2^53.
   */
  private static String padded(long number) {
    return "%020d".formatted(number);
  }
}
