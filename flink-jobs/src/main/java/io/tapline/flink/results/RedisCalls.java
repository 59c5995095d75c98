package io.tapline.flink.results;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.QuerySpec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Results as calls of the Redis Functions in tapline.lua: function, number of keys, keys,
 * arguments. Keys, types and fields are described in schema/redis.md.
 */
final class RedisCalls {
  private final QuerySpec query;
  private final int windowsKept;

  RedisCalls(QuerySpec query, int windowsKept) {
    this.query = query;
    this.windowsKept = windowsKept;
  }

  private String key(String suffix) {
    return "tapline:query:" + query.query() + ":" + suffix;
  }

  /** One window of one processor, whole and at once. */
  String[] window(WindowRows window, Accounts accounts) throws IOException {
    ProcessorSpec spec = query.processors().get(window.processor());
    String completeness = Json.completeness(accounts, spec.index());
    Json json = new Json(query.query(), spec.name(), spec.key(), spec.isRanking());
    List<String> call = new ArrayList<>();
    call.addAll(List.of("tapline_window", "4"));
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
    int rank = 0;
    for (ResultRow row : window.rows()) {
      call.add(KeyText.of(row.key()));
      call.add(score(row));
      call.add(json.row(window, row, ++rank, completeness));
    }
    return call.toArray(String[]::new);
  }

  private static String score(ResultRow row) {
    double number = row.value().number();
    return Double.isNaN(number) ? "0" : Double.toString(number).replace("Infinity", "inf");
  }

  /** What the query has seen so far. */
  String[] totals(Accounts accounts) throws IOException {
    long late = 0;
    long reused = 0;
    Counters dropped = new Counters();
    dropped.add(accounts.dropped());
    for (int i = 0; i < accounts.processors(); i++) {
      late = Math.max(late, accounts.processor(i).late());
      reused = Math.max(reused, accounts.processor(i).reused());
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

  /** Twenty digits compare as text as the numbers do; Lua's own numbers end at 2^53. */
  private static String padded(long number) {
    return "%020d".formatted(number);
  }
}
