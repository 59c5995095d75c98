package io.tapline.aggregates;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * The numbers that a row shows in addition to its value.
 *
 * @param numbers by name, in the order in which they are shown; in the unit of the values, except
 *     one named {@code count}
 * @param histogram number of values per bucket of {@link Histogram}; null if there is none
 */
public record Details(Map<String, Value> numbers, long[] histogram) {
  public static final Details NONE = new Details(Map.of(), null);

  /** Returns details that are a single number; {@link #and} adds others. */
  public static Details of(String name, Value value) {
    return NONE.and(name, value);
  }

  /** Returns these details with one more number. */
  public Details and(String name, Value value) {
    Map<String, Value> furtherValues = new LinkedHashMap<>(numbers);
    furtherValues.put(name, value);
    return new Details(furtherValues, histogram);
  }

  /** Returns true if rows show only their value. */
  public boolean isEmpty() {
    return numbers.isEmpty() && histogram == null;
  }

  /** Writes the details for {@link #read}. */
  public void write(DataOutput out) throws IOException {
    Wire.writeUnsigned(out, numbers.size());
    for (var number : numbers.entrySet()) {
      Wire.writeText(out, number.getKey());
      number.getValue().write(out);
    }
    Wire.writeUnsigned(out, histogram == null ? 0 : histogram.length + 1);
    for (int i = 0; histogram != null && i < histogram.length; i++) {
      Wire.writeUnsigned(out, histogram[i]);
    }
  }

  /** Reads details that {@link #write} wrote. */
  public static Details read(DataInput in) throws IOException {
    Map<String, Value> numbers = new LinkedHashMap<>();
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      String name = Wire.readText(in);
      numbers.put(name, Value.read(in));
    }
    int length = (int) Wire.readUnsigned(in) - 1;
    long[] histogram = length < 0 ? null : new long[length];
    for (int i = 0; i < length; i++) {
      histogram[i] = Wire.readUnsigned(in);
    }
    return new Details(numbers, histogram);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Details details
        && numbers.equals(details.numbers)
        && Arrays.equals(histogram, details.histogram);
  }

  @Override
  public int hashCode() {
    return Objects.hash(numbers, Arrays.hashCode(histogram));
  }
}
