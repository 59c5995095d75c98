package io.tapline.flink.ingest;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.group.GroupTable;
import io.tapline.flink.group.KeyList;

/**
 * Brings a batch's rows into tables by group, a run of rows of one pane at a time, in steps over
 * the whole run rather than row by row: number the groups, look them all up, then add. Most rows
 * only move small arrays, and a large table's memory is waited for many groups at once.
 */
final class RowGroups {
  private final Rows rows;
  private final KeySlots slots;
  private final boolean real;
  private final KeyList keys;

  /** Null where only tuples are counted. */
  private final long[] values;

  private final double rate;

  /** By slot: its key in the list + 1. */
  private final int[] keyOfSlot;

  /** By slot: tuples in the run, its entry in the table, end of the last flow worth offering. */
  private final int[] tuples;

  private final int[] entryOfSlot;
  private final long[] exemplarsUntilNs;

  /** Slots of the run, and their keys. */
  private final int[] touched;

  private final int[] wanted;
  private final int[] found;

  /**
   * @param real whether values are bits of doubles
   * @param keys used for this batch, cleared first
   */
  RowGroups(ProcessorSpec spec, Rows rows, boolean real, KeyList keys) {
    this.rows = rows;
    this.real = real;
    this.keys = keys;
    keys.clear();
    slots = new KeySlots(rows, spec.key());
    values = values(spec, rows);
    rate = rows.samplingRate();
    keyOfSlot = new int[slots.count()];
    tuples = new int[slots.count()];
    entryOfSlot = new int[slots.count()];
    exemplarsUntilNs = new long[slots.count()];
    touched = new int[slots.count()];
    wanted = new int[slots.count()];
    found = new int[slots.count()];
  }

  private static long[] values(ProcessorSpec spec, Rows rows) {
    if (spec.valueField().isEmpty()) {
      return null;
    }
    return spec.isDistinct() ? rows.hashes(spec.valueField()) : rows.values(spec.valueField());
  }

  /** Adds rows of one pane, from one up to before another. */
  void addTo(GroupTable table, int from, int to) {
    int groups = number(from, to);
    table.findOrAdd(keys, wanted, groups, found);
    for (int i = 0; i < groups; i++) {
      entryOfSlot[touched[i]] = found[i];
      exemplarsUntilNs[touched[i]] = table.exemplarsUntilNs(found[i]);
    }
    if (values == null) {
      for (int i = 0; i < groups; i++) {
        table.count(found[i], tuples[touched[i]]);
      }
    } else {
      for (int row = from; row < to; row++) {
        table.addValue(entryOfSlot[slots.slot(row)], values[row]);
      }
    }
    if (rate < 1) {
      addSampled(table, from, to);
    }
    offerExemplars(table, from, to);
    for (int i = 0; i < groups; i++) {
      tuples[touched[i]] = 0;
    }
  }

  /** Counts the tuples of each slot in the run; returns how many slots there are. */
  private int number(int from, int to) {
    int groups = 0;
    for (int row = from; row < to; row++) {
      int slot = slots.slot(row);
      if (tuples[slot]++ == 0) {
        touched[groups] = slot;
        wanted[groups++] = key(slot, row);
      }
    }
    return groups;
  }

  private int key(int slot, int row) {
    if (keyOfSlot[slot] == 0) {
      slots.key(row, keys.buffer());
      keyOfSlot[slot] = keys.end() + 1;
    }
    return keyOfSlot[slot] - 1;
  }

  private void addSampled(GroupTable table, int from, int to) {
    long[] flows = rows.flows();
    for (int row = from; row < to; row++) {
      table.addSampled(entryOfSlot[slots.slot(row)], value(row), rate, flows[row]);
    }
  }

  private double value(int row) {
    if (values == null) {
      return 1;
    }
    return real ? Double.longBitsToDouble(values[row]) : values[row];
  }

  private void offerExemplars(GroupTable table, int from, int to) {
    for (int row = from; row < to; row++) {
      int slot = slots.slot(row);
      if (rows.timeNs(row) <= exemplarsUntilNs[slot]) {
        int entry = entryOfSlot[slot];
        table.offerExemplar(entry, rows.exemplar(row));
        exemplarsUntilNs[slot] = table.exemplarsUntilNs(entry);
      }
    }
  }
}
