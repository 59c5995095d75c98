package io.tapline.flink.ingest;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.group.Exemplar;
import io.tapline.flink.group.GroupTable;
import io.tapline.flink.group.Key;
import io.tapline.schema.BatchReaderException;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/**
 * Aggregates one processor's tuples per pane before they are sent on: the first of the job's two
 * combining steps, and the one that sees every tuple. Holds nothing across a flush. Not
 * thread-safe.
 */
final class Combiner {
  private final ProcessorSpec spec;
  private final Map<Long, GroupTable> panes = new TreeMap<>();
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
    GroupTable table = null;
    long paneEnd = Long.MIN_VALUE;
    long paneStart = Long.MAX_VALUE;
    for (int row = 0; row < rows.count(); row++) {
      long time = rows.timeNs(row);
      if (time < paneStart || time >= paneEnd) {
        long pane = spec.paneOf(time);
        paneStart = pane * spec.paneNs();
        paneEnd = paneStart + spec.paneNs();
        table = table(pane, isReal);
        Arrays.fill(entryOfSlot, -1);
      }
      int slot = keys.slot(row);
      int entry = entryOfSlot[slot];
      if (entry < 0) {
        entry = entry(table, keys.key(slot));
        entryOfSlot[slot] = entry;
      }
      if (counted) {
        table.count(entry);
      } else {
        table.addValue(entry, values[row]);
      }
      if (rate < 1) {
        table.addSampled(entry, counted ? 1 : number(values[row], isReal), rate, flows[row]);
      }
      if (table.wantsExemplar(entry, time)) {
        table.offerExemplar(entry, rows.exemplar(row));
      }
    }
  }

  /** Adds one whole-number value whose tuples were paired. */
  void add(byte[] key, long timeNs, long value, boolean counted, double rate, Exemplar exemplar) {
    GroupTable table = table(spec.paneOf(timeNs), false);
    int entry = entry(table, key);
    if (counted) {
      table.count(entry);
    } else {
      table.addValue(entry, value);
    }
    if (rate < 1) {
      table.addSampled(entry, counted ? 1 : value, rate, exemplar.flowHash());
    }
    table.offerExemplar(entry, exemplar);
  }

  private static double number(long value, boolean real) {
    return real ? Double.longBitsToDouble(value) : value;
  }

  private GroupTable table(long pane, boolean real) {
    GroupTable table = panes.computeIfAbsent(pane, index -> new GroupTable(spec.shape()));
    if (real) {
      table.holdReals();
    }
    return table;
  }

  private int entry(GroupTable table, byte[] key) {
    int before = table.size();
    int entry = table.findOrAdd(key, Key.hash(key));
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
    groups = 0;
  }
}
