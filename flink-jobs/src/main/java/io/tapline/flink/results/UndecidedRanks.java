package io.tapline.flink.results;

import io.tapline.aggregates.Value;
import java.util.List;

/** Finds the rows whose ranks are undecided because their estimates' bounds overlap. */
final class UndecidedRanks {
  private UndecidedRanks() {}

  /** Returns true for each row whose bounds overlap those of an adjacent row. */
  static boolean[] of(List<ResultRow> rows) {
    boolean[] tied = new boolean[rows.size()];
    for (int i = 1; i < tied.length; i++) {
      if (touch(rows.get(i - 1).value(), rows.get(i).value())) {
        tied[i - 1] = true;
        tied[i] = true;
      }
    }
    return tied;
  }

  /** Returns true if the bounds overlap. Exact values never tie: equal ones are ordered by key. */
  private static boolean touch(Value a, Value b) {
    boolean estimated = a.low() != a.high() || b.low() != b.high();
    return estimated && !(a.high() < b.low()) && !(b.high() < a.low());
  }
}
