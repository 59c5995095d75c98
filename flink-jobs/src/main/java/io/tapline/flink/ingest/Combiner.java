package io.tapline.flink.ingest;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.group.Answers;
import io.tapline.flink.group.Exemplar;
import io.tapline.flink.group.GroupTable;
import io.tapline.flink.group.KeyBuffer;
import io.tapline.flink.group.KeyList;
import io.tapline.schema.BatchReaderException;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Aggregates the tuples of one table per pane before they are sent. This is the first of the job's
 * two combining steps, and the only one that sees every tuple. It is empty after each flush. Not
 * thread-safe.
 */
public final class Combiner {
  private final ProcessorSpec spec;
  private final Map<Long, GroupTable> panes = new TreeMap<>();
  private final KeyBuffer key = new KeyBuffer();
  private final KeyList keys = new KeyList();
  private GroupTable last;
  private long lastPane;
  private int groups;
  private Boolean real;

  /** Creates an empty combiner. */
  public Combiner(ProcessorSpec spec) {
    this.spec = spec;
  }

  /** Decodes the columns that {@link #add} reads; throws if the batch is malformed. */
  public void require(Rows rows) throws BatchReaderException {
    for (String field : spec.key().fields()) {
      rows.require(field);
    }
    TupleValues.require(spec, rows);
    if (!spec.takesHashes() && !spec.countsPresent() && !spec.value().field().isEmpty()) {
      requireType(rows.isReal(spec.value().field()));
    }
  }

  /**
   * Rejects a field that had whole numbers and now has reals, or vice versa. A parser's schema does
   * not change, so the batch must be corrupt.
   */
  private void requireType(boolean nowReal) throws BatchReaderException {
    if (real != null && real != nowReal) {
      throw BatchReaderException.malformed("column " + spec.value().field() + " changed its type");
    }
    real = nowReal;
  }

  /** Adds every row. REQUIRES: {@link #require} was called for the rows. */
  public void add(Rows rows) {
    boolean isReal = !spec.takesHashes() && Boolean.TRUE.equals(real);
    RowGroups grouped = new RowGroups(spec, rows, isReal, keys);
    for (int row = 0; row < rows.count(); ) {
      long pane = spec.window().paneOf(rows.timeNs(row));
      int end = endOfPane(rows, row, pane);
      GroupTable table = table(pane, isReal);
      int previousSize = table.size();
      grouped.addTo(table, row, end);
      groups += table.size() - previousSize;
      row = end;
    }
  }

  /**
   * Returns the first row after {@code row} that is in another pane; the number of rows if there is
   * none.
   */
  private int endOfPane(Rows rows, int row, long pane) {
    long startNs = pane * spec.window().paneNs();
    long endNs = startNs + spec.window().paneNs();
    int end = row + 1;
    while (end < rows.count() && rows.timeNs(end) >= startNs && rows.timeNs(end) < endNs) {
      end++;
    }
    return end;
  }

  /**
   * Adds a whole-number value of a tuple or a pair of tuples.
   *
   * @param exemplar called only if the exemplar is needed
   */
  void add(
      byte[] bytes,
      long timeNs,
      PairedValue value,
      double rate,
      long flow,
      Supplier<Exemplar> exemplar) {
    GroupTable table = table(spec.window().paneOf(timeNs), false);
    key.clear();
    key.append(bytes);
    int entry = entry(table, key);
    if (!value.present()) {
      table.addAbsent(entry, rate);
    } else if (spec.value().countsTuples()) {
      table.count(entry, 1);
    } else {
      table.addValue(entry, value.bits());
    }
    if (rate < 1 && value.present()) {
      table.addSampled(entry, value.bits(), rate, flow);
    }
    if (value.answer() != Answers.WHOLE && spec.showsAnswers()) {
      table.addAnswer(entry, value.answer(), rate);
    }
    if (timeNs <= table.exemplarsUntilNs(entry)) {
      table.offerExemplar(entry, exemplar.get());
    }
  }

  private GroupTable table(long pane, boolean isReal) {
    if (last == null || pane != lastPane) {
      last = panes.computeIfAbsent(pane, index -> newTable());
      lastPane = pane;
    }
    if (isReal) {
      last.holdReals();
    }
    return last;
  }

  private GroupTable newTable() {
    return spec.table();
  }

  private int entry(GroupTable table, KeyBuffer wanted) {
    int previousSize = table.size();
    int entry = table.findOrAdd(wanted);
    groups += table.size() - previousSize;
    return entry;
  }

  /** Returns the total number of groups in all panes. */
  int groups() {
    return groups;
  }

  /** Returns the tables that were filled since the last {@link #clear}, by pane. */
  public Map<Long, GroupTable> panes() {
    return panes;
  }

  /** Clears all tables. */
  public void clear() {
    panes.clear();
    last = null;
    groups = 0;
  }
}
