package io.tapline.flink.results;

import io.tapline.aggregates.Details;
import io.tapline.aggregates.Value;
import io.tapline.aggregates.Wire;
import io.tapline.flink.group.Exemplars;
import io.tapline.flink.group.Key;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Comparator;

/**
 * One group's result in one window.
 *
 * @param details numbers that the aggregate shows in addition to the value
 * @param counts null for rows that do not show them
 * @param change null unless the row is an alert
 */
public record ResultRow(
    byte[] key,
    Value value,
    Details details,
    AnswerCounts counts,
    Exemplars exemplars,
    Change change) {
  /**
   * An alert that begins or ends.
   *
   * @param sinceNs end of the window in which the alert began
   */
  public record Change(boolean begins, long sinceNs) {}

  /** Returns a row that may still be dropped; it has only the fields that determine its rank. */
  public static ResultRow candidate(byte[] key, Value value) {
    return new ResultRow(key, value, Details.NONE, null, null, null);
  }

  /** Returns a row for an alert. */
  public static ResultRow alert(byte[] key, Value value, Exemplars exemplars, Change change) {
    return new ResultRow(key, value, Details.NONE, null, exemplars, change);
  }

  /**
   * Tuples of the group that are counted separately from its value.
   *
   * @param absent tuples without a value
   */
  public record AnswerCounts(Value absent, Value unanswered, Value halfSeen) {
    private void write(DataOutput out) throws IOException {
      absent.write(out);
      unanswered.write(out);
      halfSeen.write(out);
    }

    private static AnswerCounts read(DataInput in) throws IOException {
      Value absent = Value.read(in);
      Value unanswered = Value.read(in);
      return new AnswerCounts(absent, unanswered, Value.read(in));
    }
  }

  /**
   * Orders rows by value, largest first or, if {@code ascending}, smallest first. Equal values are
   * ordered by key, so that ranks are the same in every run.
   */
  public static Comparator<ResultRow> order(boolean ascending) {
    return Comparator.comparing(ResultRow::value, Value.order(ascending))
        .thenComparing(ResultRow::key, Key::compare);
  }

  void write(DataOutput out) throws IOException {
    Wire.writeBytes(out, key);
    value.write(out);
    exemplars.write(out);
    details.write(out);
    out.writeBoolean(counts != null);
    if (counts != null) {
      counts.write(out);
    }
    out.writeBoolean(change != null);
    if (change != null) {
      out.writeBoolean(change.begins());
      out.writeLong(change.sinceNs());
    }
  }

  static ResultRow read(DataInput in) throws IOException {
    byte[] key = Wire.readBytes(in);
    Value value = Value.read(in);
    Exemplars exemplars = Exemplars.read(in);
    Details details = Details.read(in);
    AnswerCounts counts = in.readBoolean() ? AnswerCounts.read(in) : null;
    Change change = in.readBoolean() ? new Change(in.readBoolean(), in.readLong()) : null;
    return new ResultRow(key, value, details, counts, exemplars, change);
  }
}
