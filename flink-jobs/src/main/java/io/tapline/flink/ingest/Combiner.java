package io.tapline.flink.ingest;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.group.Exemplar;
import io.tapline.flink.group.GroupTable;
import io.tapline.flink.group.KeyBuffer;
import io.tapline.schema.BatchReaderException;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Aggregates one processor's tuples per pane before they are sent on: the first of the job's two
 * combining steps, and the one that sees every tuple. Holds nothing across a flush. Not
 * thread-safe.
 */
final class Combiner {
  private final ProcessorSpec spec;
  private final Map<Long, GroupTable> panes = new TreeMap<>();
  private final KeyBuffer key = new KeyBuffer();
  private GroupTable last;
  private long lastPane;
  private int groups;
  private Boolean real;

  Combiner(ProcessorSpec spec) {
    this.spec = spec;
  }

  void require(Rows rows) throws BatchReaderException {
    for (String field : spec.key()) {
      rows.require(field);
    }
    if (spec.isDistinct()) {
      rows.require(spec.valueField());
    } else if (!spec.valueField().isEmpty()) {
      rows.requireNumber(spec.valueField());
      requireType(rows.isReal(spec.valueField()));
    }
  }

  /** A parser's schema does not change: a field that was whole and is now real is damaged. */
  private void requireType(boolean nowReal) throws BatchReaderException {
    if (real != null && real != nowReal) {
      throw BatchReaderException.malformed("column " + spec.valueField() + " changed its type");
    }
    real = nowReal;
  }

  /** Adds every row. REQUIRES: {@link #require} of the rows. */
  void add(Rows rows) {
    KeySlots keys = new KeySlots(rows, spec.key());
    boolean counted = spec.valueField().isEmpty();
    long[] values =
        counted
            ? null
            : spec.isDistinct() ? rows.hashes(spec.valueField()) : rows.values(spec.valueField());
    boolean isReal = !counted && !spec.isDistinct() && real;
    double rate = rows.samplingRate();
    long[] flows = rate < 1 ? rows.flows() : null;
    int[] entryOfSlot = new int[keys.count()];
    long[] exemplarsUntilNs = new long[keys.count()];
    int[] pending = new int[counted ? keys.count() : 0];
    GroupTable table = null;
    long paneEnd = Long.MIN_VALUE;
    long paneStart = Long.MAX_VALUE;
    for (int row = 0; row < rows.count(); row++) {
      long time = rows.timeNs(row);
      if (time < paneStart || time >= paneEnd) {
        count(table, entryOfSlot, pending);
        long pane = spec.paneOf(time);
        paneStart = pane * spec.paneNs();
        paneEnd = paneStart + spec.paneNs();
        table = table(pane, isReal);
        Arrays.fill(entryOfSlot, -1);
      }
      int slot = keys.slot(row);
      int entry = entryOfSlot[slot];
      if (entry < 0) {
        keys.key(slot, key);
        entry = entry(table, key);
        entryOfSlot[slot] = entry;
        exemplarsUntilNs[slot] = table.exemplarsUntilNs(entry);
      }
      if (counted) {
        pending[slot]++;
      } else {
        table.addValue(entry, values[row]);
      }
      if (rate < 1) {
        table.addSampled(entry, counted ? 1 : number(values[row], isReal), rate, flows[row]);
      }
      if (time <= exemplarsUntilNs[slot]) {
        table.offerExemplar(entry, rows.exemplar(row));
        exemplarsUntilNs[slot] = table.exemplarsUntilNs(entry);
      }
    }
    count(table, entryOfSlot, pending);
  }

  /** Brings counts into the table once a batch: most rows only move a small array. */
  private static void count(GroupTable table, int[] entryOfSlot, int[] pending) {
    for (int slot = 0; slot < pending.length; slot++) {
      if (pending[slot] > 0) {
        table.count(entryOfSlot[slot], pending[slot]);
        pending[slot] = 0;
      }
    }
  }

  /**
   * Adds one whole-number value whose tuples were paired.
   *
   * @param exemplar asked only if it is wanted
   */
  void add(
      byte[] bytes, long timeNs, long value, double rate, long flow, Supplier<Exemplar> exemplar) {
    GroupTable table = table(spec.paneOf(timeNs), false);
    key.clear();
    key.append(bytes);
    int entry = entry(table, key);
    if (spec.counts()) {
      table.count(entry, 1);
    } else {
      table.addValue(entry, value);
    }
    if (rate < 1) {
      table.addSampled(entry, spec.counts() ? 1 : value, rate, flow);
    }
    if (timeNs <= table.exemplarsUntilNs(entry)) {
      table.offerExemplar(entry, exemplar.get());
    }
  }

  private static double number(long value, boolean real) {
    return real ? Double.longBitsToDouble(value) : value;
  }

  private GroupTable table(long pane, boolean real) {
    if (last == null || pane != lastPane) {
      last = panes.computeIfAbsent(pane, index -> newTable());
      lastPane = pane;
    }
    if (real) {
      last.holdReals();
    }
    return last;
  }

  private GroupTable newTable() {
    return new GroupTable(spec.shape(), spec.exemplarsPerPane());
  }

  private int entry(GroupTable table, KeyBuffer wanted) {
    int before = table.size();
    int entry = table.findOrAdd(wanted);
    groups += table.size() - before;
    return entry;
  }

  /** Groups held, over all panes. */
  int groups() {
    return groups;
  }

  Map<Long, GroupTable> panes() {
    return panes;
  }

  void clear() {
    panes.clear();
    last = null;
    groups = 0;
  }
}
