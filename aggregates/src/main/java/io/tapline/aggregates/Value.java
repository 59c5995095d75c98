package io.tapline.aggregates;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Comparator;

/**
 * A result with its bounds.
 *
 * @param number the value; NaN if there is none
 * @param exact the value if {@code whole}, since a double can't hold every sum of nanoseconds
 * @param whole whether {@code exact} is the value
 * @param low lower bound; NaN if there is none
 * @param high upper bound; NaN if there is none
 */
public record Value(double number, long exact, boolean whole, double low, double high)
    implements Comparable<Value> {

  /** The value of a group in which no tuple has a value. */
  public static final Value NONE = real(Double.NaN);

  /** Returns a comparator for ascending or descending order; NaN comes last. */
  public static Comparator<Value> order(boolean ascending) {
    Comparator<Value> known = Comparator.naturalOrder();
    return Comparator.comparing((Value value) -> !value.isKnown())
        .thenComparing(ascending ? known : known.reversed());
  }

  public boolean isKnown() {
    return !Double.isNaN(number);
  }

  public static Value whole(long value) {
    return new Value(value, value, true, value, value);
  }

  public static Value real(double value) {
    return new Value(value, 0, false, value, value);
  }

  /** Returns the same value with different bounds; NaN for none. */
  public Value within(double lower, double upper) {
    return new Value(number, exact, whole, lower, upper);
  }

  @Override
  public int compareTo(Value other) {
    return whole && other.whole
        ? Long.compare(exact, other.exact)
        : Double.compare(number, other.number);
  }

  public void write(DataOutput out) throws IOException {
    out.writeBoolean(whole);
    out.writeDouble(number);
    out.writeLong(exact);
    out.writeDouble(low);
    out.writeDouble(high);
  }

  public static Value read(DataInput in) throws IOException {
    boolean isWhole = in.readBoolean();
    double number = in.readDouble();
    long exact = in.readLong();
    double low = in.readDouble();
    return new Value(number, exact, isWhole, low, in.readDouble());
  }
}
