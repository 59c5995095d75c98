package io.tapline.flink.results;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.accounting.Accounts;
import io.tapline.flink.accounting.Counters;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Encodes results as calls of the Redis Functions in tapline.lua: function, number of keys, keys,
 * arguments. Keys, types and fields are described in schema/redis.md.
 */
final class RedisCalls {
  private static final String WINDOW = "tapline_window";
  private static final String ALERTS = "tapline_alerts";

  // Both functions have the processor at this position.
  private static final int PROCESSOR = 9;
  private static final int NAME = 10;
  private static final int FIRST_ROW = 14;

  private final QuerySpec query;
  private final int windowsKept;

  RedisCalls(QuerySpec query, int windowsKept) {
    this.query = query;
    this.windowsKept = windowsKept;
  }

  private String key(String suffix) {
    return "tapline:query:" + query.query() + ":" + suffix;
  }

  /** Returns the call for one window of one processor, whole and at once. */
  String[] window(WindowRows window, Accounts accounts) throws IOException {
    ProcessorSpec spec = query.processors().get(window.processor());
    String completeness = completeness(window, accounts);
    Json json = new Json(query.query(), spec);
    List<String> call = new ArrayList<>();
    call.addAll(List.of(WINDOW, "4"));
    call.add(key("last:" + spec.index()));
    call.add(key("ranking:" + spec.index()));
    call.add(key("groups:" + spec.index()));
    call.add(key("windows"));
    call.add(padded(window.endNs()));
    call.add(Integer.toString(windowsKept));
    call.add(key("events"));
    call.add(Integer.toString(spec.index()));
    call.add(spec.name());
    call.add(Long.toString(window.startNs()));
    call.add(Long.toString(window.endNs()));
    call.add(completeness);
    boolean[] tied = spec.isRanking() ? Ties.of(window.rows()) : new boolean[window.rows().size()];
    for (int i = 0; i < tied.length; i++) {
      ResultRow row = window.rows().get(i);
      call.add(KeyText.of(row.key()));
      call.add(score(row));
      call.add(json.row(window, row, i + 1, tied[i], completeness));
    }
    return call.toArray(String[]::new);
  }

  private String completeness(WindowRows window, Accounts accounts) throws IOException {
    List<String> silent = window.silent().stream().map(query.monitors()::get).toList();
    return Json.completeness(accounts, query.processors().get(window.processor()), silent);
  }

  /** Returns the call for the alerts that begin and end with one window. */
  String[] alerts(WindowRows window, Accounts accounts) throws IOException {
    ProcessorSpec spec = query.processors().get(window.processor());
    String completeness = completeness(window, accounts);
    Json json = new Json(query.query(), spec);
    List<String> call = new ArrayList<>();
    call.addAll(List.of(ALERTS, "3"));
    call.add(key("last:" + spec.index()));
    call.add(key("alerts:" + spec.index()));
    call.add(key("windows"));
    call.add(padded(window.endNs()));
    call.add(Integer.toString(windowsKept));
    call.add(key("events"));
    call.add(key("alerts"));
    call.add(Integer.toString(spec.index()));
    call.add(spec.name());
    call.add(Long.toString(window.startNs()));
    call.add(Long.toString(window.endNs()));
    call.add(completeness);
    for (ResultRow row : window.rows()) {
      call.add(KeyText.of(row.key()));
      call.add(row.change().begins() ? "raised" : "cleared");
      call.add(json.row(window, row, 0, false, completeness));
    }
    return call.toArray(String[]::new);
  }

  /** Returns processor and JSON of each alert in such a call. */
  static List<String[]> alertsOf(String[] call) {
    List<String[]> alerts = new ArrayList<>();
    for (int i = FIRST_ROW; call[0].equals(ALERTS) && i < call.length; i += 3) {
      alerts.add(new String[] {call[PROCESSOR], call[i + 2]});
    }
    return alerts;
  }

  /** Returns the processor of a call that writes a window or alerts. */
  static String processorOf(String[] call) {
    return call[PROCESSOR];
  }

  /** Returns a window or its alerts as one line of JSON; empty for other calls. */
  static String line(String query, String[] call) {
    if (!call[0].equals(WINDOW) && !call[0].equals(ALERTS)) {
      return "";
    }
    StringBuilder line = new StringBuilder(1024);
    line.append("{\"query\":\"")
        .append(query)
        .append("\",\"processor\":")
        .append(processorOf(call));
    line.append(",\"name\":\"").append(call[NAME]).append("\",\"window_start_ns\":");
    line.append(call[NAME + 1]).append(",\"window_end_ns\":").append(call[NAME + 2]);
    line.append(",\"completeness\":").append(call[NAME + 3]).append(",\"rows\":[");
    for (int i = FIRST_ROW; i < call.length; i += 3) {
      line.append(i == FIRST_ROW ? "" : ",").append(call[i + 2]);
    }
    return line.append("]}").toString();
  }

  /** Returns an empty string if there is no value, since zero would be one. */
  private static String score(ResultRow row) {
    double number = row.value().number();
    return Double.isNaN(number) ? "" : Double.toString(number).replace("Infinity", "inf");
  }

  /** Returns the call for what the query has seen so far. */
  String[] totals(Accounts accounts) throws IOException {
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
      "sampling_rate",
      Double.toString(accounts.samplingRate()),
      "dropped",
      Json.dropped(dropped)
    };
  }

  /** Twenty digits sort as strings as the numbers do; Lua's own integers are exact only to 2^53. */
  private static String padded(long number) {
    return "%020d".formatted(number);
  }
}
