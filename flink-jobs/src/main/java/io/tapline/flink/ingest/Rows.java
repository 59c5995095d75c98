package io.tapline.flink.ingest;

import io.tapline.flink.group.Exemplar;
import io.tapline.flink.group.Key;
import io.tapline.schema.BatchReaderException;
import io.tapline.schema.TupleColumns;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.TupleBatch;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * The columns of one batch, decoded once for all processors that read them.
 *
 * <p>Processors first require all columns that they need ({@link #require}), which throws if the
 * batch is malformed. Reading required columns can't fail, so a batch is counted entirely or not at
 * all.
 */
public final class Rows {
  /**
   * Latest valid packet time (the year 2043), so that sums of times and windows do not overflow.
   */
  static final long LATEST_NS = 1L << 61;

  private final TupleBatch batch;
  private final TupleColumns columns;
  private final Map<String, long[]> numbers = new HashMap<>();
  private final Map<String, int[]> entries = new HashMap<>();
  private final Map<String, boolean[]> absent = new HashMap<>();
  private final Map<String, KeyColumn> keyColumns = new HashMap<>();
  private final Map<ConditionTree, long[]> meeting = new HashMap<>();
  private final long[] timesNs;
  private final long latestNs;
  private final long[] flows;
  private final byte[] answers;
  private FlowColumns flow;

  /** Validates the columns that every batch must have. */
  public Rows(TupleBatch batch) throws BatchReaderException {
    this.batch = batch;
    this.columns = TupleColumns.of(batch);
    require("time_ns");
    if (absent("time_ns") != null) {
      throw BatchReaderException.malformed("a row has no time_ns");
    }
    timesNs = numbers("time_ns");
    long latest = 0;
    for (long time : timesNs) {
      if (time < 0 || time > LATEST_NS) {
        throw BatchReaderException.malformed("time_ns " + time);
      }
      latest = Math.max(latest, time);
    }
    latestNs = latest;
    int hashes = columns.index("flow_hash");
    boolean isKnown = batch.getSamplingRate() < 1 && hashes >= 0 && !columns.hasDictionary(hashes);
    flows = isKnown ? columns.longs(hashes) : timesNs;
    answers = AnswerColumns.read(columns);
  }

  /** Decodes a column; throws if the batch lacks it. */
  void require(String field) throws BatchReaderException {
    int column = columns.index(field);
    if (column < 0) {
      throw BatchReaderException.malformed("no column " + field);
    }
    if (numbers.containsKey(field) || entries.containsKey(field)) {
      return;
    }
    if (columns.hasDictionary(column)) {
      entries.put(field, columns.entryOfRows(column));
    } else {
      numbers.put(field, columns.longs(column));
    }
    absent.put(field, columns.absent(column));
  }

  /**
   * Evaluates a condition on the rows; throws if the batch lacks one of the condition's columns.
   */
  void requireCondition(ConditionTree condition) throws BatchReaderException {
    if (!meeting.containsKey(condition)) {
      boolean[] rows = RowConditions.meet(condition, columns);
      long[] ones = new long[rows.length];
      for (int row = 0; row < rows.length; row++) {
        ones[row] = rows[row] ? 1 : 0;
      }
      meeting.put(condition, ones);
    }
  }

  /**
   * Returns 1 for rows that meet a condition and 0 for others. REQUIRES: {@link #requireCondition}
   * was called for the condition.
   */
  long[] meeting(ConditionTree condition) {
    return meeting.get(condition);
  }

  /**
   * Returns the rows without a value; null if all have one. REQUIRES: {@link #require} was called
   * for the field.
   */
  boolean[] absent(String field) {
    return absent.get(field);
  }

  /** Returns each row's answer state (see {@link AnswerColumns#read}); null if all are whole. */
  byte[] answers() {
    return answers;
  }

  /** Decodes a column; throws unless it contains numbers. */
  void requireNumber(String field) throws BatchReaderException {
    require(field);
    if (!numbers.containsKey(field)) {
      throw BatchReaderException.malformed("column " + field + " contains no numbers");
    }
  }

  boolean has(String field) {
    return columns.index(field) >= 0;
  }

  /** Returns the number of rows. */
  public int count() {
    return columns.rows();
  }

  double samplingRate() {
    return batch.getSamplingRate();
  }

  long[] timesNs() {
    return timesNs;
  }

  long latestNs() {
    return latestNs;
  }

  long timeNs(int row) {
    return timesNs[row];
  }

  /** Returns a column's numbers. REQUIRES: {@link #requireNumber} was called for the field. */
  long[] numbers(String field) {
    return numbers.get(field);
  }

  boolean isReal(String field) {
    return columns.type(columns.index(field)) == Column.Type.F64;
  }

  /**
   * Returns the values to aggregate: bits of doubles, or whole numbers. Unsigned values above
   * 2^63-1 are clamped.
   */
  long[] values(String field) {
    long[] values = numbers.get(field);
    if (columns.type(columns.index(field)) != Column.Type.U64) {
      return values;
    }
    for (int i = 0; i < values.length; i++) {
      if (values[i] < 0) {
        values = values.clone();
        break;
      }
    }
    for (int i = 0; i < values.length && values != numbers.get(field); i++) {
      values[i] = values[i] < 0 ? Long.MAX_VALUE : values[i];
    }
    return values;
  }

  /**
   * Returns a hash of each row's value, which may have any type. REQUIRES: {@link #require} was
   * called for the field.
   */
  long[] hashes(String field) {
    long[] hashes = new long[count()];
    int[] dictionary = entries.get(field);
    if (dictionary == null) {
      long[] values = numbers.get(field);
      for (int row = 0; row < hashes.length; row++) {
        hashes[row] = Key.hash(values[row]);
      }
      return hashes;
    }
    int column = columns.index(field);
    long[] ofEntry = new long[columns.entries(column) + 1];
    for (int entry = 0; entry < ofEntry.length - 1; entry++) {
      ofEntry[entry] = Key.hash(columns.entry(column, entry));
    }
    for (int row = 0; row < hashes.length; row++) {
      hashes[row] = ofEntry[dictionary[row]];
    }
    return hashes;
  }

  /**
   * Returns a number that identifies each row's flow. If the parser does not record flows, the
   * tuple's time is used instead. REQUIRES: flows were sampled.
   */
  long[] flows() {
    return flows;
  }

  /**
   * Returns each row's dictionary entry, or {@link #entryCount} for a row without a value; null if
   * the column has numbers. REQUIRES: {@link #require} was called for the field.
   */
  int[] entries(String field) {
    return entries.get(field);
  }

  int entryCount(String field) {
    return columns.entries(columns.index(field));
  }

  /**
   * Returns one field of a row as part of a key. REQUIRES: {@link #require} was called for the
   * field.
   */
  byte[] keyPart(String field, int row) {
    boolean[] none = absent.get(field);
    if (none != null && none[row]) {
      return Key.ABSENT;
    }
    int column = columns.index(field);
    int[] dictionary = entries.get(field);
    return dictionary == null
        ? Key.number(columns.type(column), numbers.get(field)[row])
        : Key.bytes(columns.type(column), columns.entry(column, dictionary[row]));
  }

  /**
   * Returns a field in a form that is fast to add to many keys. REQUIRES: {@link #require} was
   * called for the field.
   */
  KeyColumn keyColumn(String field) {
    return keyColumns.computeIfAbsent(
        field,
        name ->
            new KeyColumn(
                columns,
                columns.index(name),
                numbers.get(name),
                entries.get(name),
                absent.get(name)));
  }

  /**
   * Returns, for each dictionary entry, whether {@code texts} contains it. The additional last
   * element, for rows without a value, is false. REQUIRES: {@link #require} was called for the
   * field, and the column has a dictionary.
   */
  boolean[] entriesAmong(String field, Set<String> texts) {
    boolean[] among = new boolean[entryCount(field) + 1];
    int column = columns.index(field);
    for (int entry = 0; entry < among.length - 1; entry++) {
      String text = new String(columns.entry(column, entry), StandardCharsets.UTF_8);
      among[entry] = texts.contains(text);
    }
    return among;
  }

  /**
   * Returns an exemplar for a row's flow. Fields whose columns are missing or corrupt are 0 or
   * empty.
   */
  Exemplar exemplar(int row) {
    return flow().exemplar(row, timesNs[row], batch.getMonitor());
  }

  /** Returns false if a row does not belong to a flow, so it has no exemplar. */
  boolean hasFlow(int row) {
    return flow().hasFlow(row);
  }

  private FlowColumns flow() {
    if (flow == null) {
      flow = new FlowColumns(columns);
    }
    return flow;
  }
}
