package io.tapline.flink.results;

import io.tapline.flink.group.Distribution;
import io.tapline.flink.group.Exemplars;
import io.tapline.flink.group.Key;
import io.tapline.flink.group.Value;
import io.tapline.flink.group.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Comparator;

/**
 * One group's result in one window.
 *
 * @param spread null except for distributions and histograms
 * @param beside null except for rows that show it
 * @param change null except for triggers
 */
public record ResultRow(
    byte[] key, Value value, Spread spread, Beside beside, Exemplars exemplars, Change change) {
  /**
   * An alert that begins or ends.
   *
   * @param sinceNs end of the window in which it began
   */
  public record Change(boolean begins, long sinceNs) {}

  /** Returns a row that may still be dropped, with only what its rank depends on. */
  public static ResultRow candidate(byte[] key, Value value) {
    return new ResultRow(key, value, null, null, null, null);
  }

  /** Returns a row that is an alert. */
  public static ResultRow alert(byte[] key, Value value, Exemplars exemplars, Change change) {
    return new ResultRow(key, value, null, null, exemplars, change);
  }

  /**
   * Tuples of the group that are counted beside its value.
   *
   * @param absent tuples without a value
   */
  public record Beside(Value absent, Value unanswered, Value halfSeen) {
    private void write(DataOutput out) throws IOException {
      absent.write(out);
      unanswered.write(out);
      halfSeen.write(out);
    }

    private static Beside read(DataInput in) throws IOException {
      Value absent = Value.read(in);
      Value unanswered = Value.read(in);
      return new Beside(absent, unanswered, Value.read(in));
    }
  }

  /**
   * The statistics of a distribution.
   *
   * @param quantiles at {@link #SHARES}
   * @param histogram values per bucket of {@link Distribution#bound}
   */
  public record Spread(
      Value count, Value mean, Value min, Value max, double[] quantiles, long[] histogram) {
    /** Shares of the values that the quantiles do not exceed. */
    public static final double[] SHARES = {0.5, 0.9, 0.95, 0.99};

    private void write(DataOutput out) throws IOException {
      count.write(out);
      mean.write(out);
      min.write(out);
      max.write(out);
      for (double quantile : quantiles) {
        out.writeDouble(quantile);
      }
      Wire.writeUnsigned(out, histogram.length);
      for (long values : histogram) {
        Wire.writeUnsigned(out, values);
      }
    }

    private static Spread read(DataInput in) throws IOException {
      Value count = Value.read(in);
      Value mean = Value.read(in);
      Value min = Value.read(in);
      Value max = Value.read(in);
      double[] quantiles = new double[SHARES.length];
      for (int i = 0; i < quantiles.length; i++) {
        quantiles[i] = in.readDouble();
      }
      long[] histogram = new long[(int) Wire.readUnsigned(in)];
      for (int i = 0; i < histogram.length; i++) {
        histogram[i] = Wire.readUnsigned(in);
      }
      return new Spread(count, mean, min, max, quantiles, histogram);
    }
  }

  /**
   * Orders by the largest value first, or the smallest; equal values by key, so that ranks are the
   * same in every run.
   */
  public static Comparator<ResultRow> order(boolean ascending) {
    return Comparator.comparing(ResultRow::value, Value.order(ascending))
        .thenComparing(ResultRow::key, Key::compare);
  }

  void write(DataOutput out) throws IOException {
    Wire.writeBytes(out, key);
    value.write(out);
    exemplars.write(out);
    out.writeBoolean(spread != null);
    if (spread != null) {
      spread.write(out);
    }
    out.writeBoolean(beside != null);
    if (beside != null) {
      beside.write(out);
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
    Spread spread = in.readBoolean() ? Spread.read(in) : null;
    Beside beside = in.readBoolean() ? Beside.read(in) : null;
    Change change = in.readBoolean() ? new Change(in.readBoolean(), in.readLong()) : null;
    return new ResultRow(key, value, spread, beside, exemplars, change);
  }
}
