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
 * @param spread null but for distributions
 */
public record ResultRow(byte[] key, Value value, Spread spread, Exemplars exemplars) {
  /**
   * What a distribution shows beside its mean.
   *
   * @param quantiles at {@link #SHARES}
   * @param histogram values per bucket of {@link Distribution#bound}
   */
  public record Spread(Value count, Value min, Value max, double[] quantiles, long[] histogram) {
    /** Shares of the values that the quantiles do not exceed. */
    public static final double[] SHARES = {0.5, 0.9, 0.95, 0.99};

    private void write(DataOutput out) throws IOException {
      count.write(out);
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
      return new Spread(count, min, max, quantiles, histogram);
    }
  }

  /**
   * Largest value first, or smallest; equal values by key, so that ranks are the same in every run.
   */
  public static Comparator<ResultRow> order(boolean ascending) {
    Comparator<ResultRow> byValue = Comparator.comparing(ResultRow::value);
    return (ascending ? byValue : byValue.reversed()).thenComparing(ResultRow::key, Key::compare);
  }

  void write(DataOutput out) throws IOException {
    Wire.writeBytes(out, key);
    value.write(out);
    exemplars.write(out);
    out.writeBoolean(spread != null);
    if (spread != null) {
      spread.write(out);
    }
  }

  static ResultRow read(DataInput in) throws IOException {
    byte[] key = Wire.readBytes(in);
    Value value = Value.read(in);
    Exemplars exemplars = Exemplars.read(in);
    return new ResultRow(key, value, in.readBoolean() ? Spread.read(in) : null, exemplars);
  }
}
