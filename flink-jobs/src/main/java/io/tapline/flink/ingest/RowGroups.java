package io.tapline.flink.ingest;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.group.Answers;
import io.tapline.flink.group.GroupTable;
import io.tapline.flink.group.KeyList;

/**
 * Adds a batch's rows to tables by group. It processes runs of rows of the same pane, in steps over
 * the whole run rather than row by row: it numbers the groups, looks all of them up, then adds the
 * rows. Most rows touch only small arrays, and the cache misses of a large table overlap.
 */
final class RowGroups {
  private final Rows rows;
  private final KeySlots slots;
  private final boolean real;
  private final KeyList keys;

  private final TupleValues values;

  private final double rate;

  /** Answer states of the rows; null if they are not shown, or if all are whole. */
  private final byte[] answers;

  /**
   * For each slot, 1 + the position of its key in the list; 0 if its key is not in the list yet.
   */
  private final int[] keyOfSlot;

  /**
   * For each slot: the number of its tuples in the run, its entry in the table, and the latest end
   * time with which a flow can still become an exemplar.
   */
  private final int[] tuples;

  private final int[] entryOfSlot;
  private final long[] exemplarsUntilNs;

  /** The run's slots, the positions of their keys in the list, and their entries in the table. */
  private final int[] touched;

  private final int[] wanted;
  private final int[] found;

  /**
   * Entry of each row with a value, so that the aggregate is called once per run instead of once
   * per tuple; null if tuples are only counted.
   */
  private final int[] entries;

  /** Values of the rows that have one; null if all rows have one, or if tuples are only counted. */
  private final long[] presentBits;

  /**
   * Prepares to group a batch's rows.
   *
   * @param isReal whether values are bits of doubles
   * @param keys list that is cleared and used for this batch
   */
  RowGroups(ProcessorSpec spec, Rows rows, boolean isReal, KeyList keys) {
    this.rows = rows;
    this.real = isReal;
    this.keys = keys;
    keys.clear();
    slots = new KeySlots(rows, spec.key().fields());
    values = TupleValues.of(spec, rows);
    rate = rows.samplingRate();
    answers = spec.showsAnswers() ? rows.answers() : null;
    keyOfSlot = new int[slots.count()];
    tuples = new int[slots.count()];
    entryOfSlot = new int[slots.count()];
    exemplarsUntilNs = new long[slots.count()];
    touched = new int[slots.count()];
    wanted = new int[slots.count()];
    found = new int[slots.count()];
    entries = values.bits() == null ? null : new int[rows.count()];
    presentBits = values.absent() == null ? null : new long[rows.count()];
  }

  /** Adds rows {@code begin} (inclusive) to {@code end} (exclusive), all of one pane. */
  void addTo(GroupTable table, int begin, int end) {
    int groups = number(begin, end);
    table.findOrAdd(keys, wanted, groups, found);
    for (int i = 0; i < groups; i++) {
      entryOfSlot[touched[i]] = found[i];
      exemplarsUntilNs[touched[i]] = table.exemplarsUntilNs(found[i]);
    }
    if (values.bits() == null) {
      for (int i = 0; i < groups; i++) {
        table.count(found[i], tuples[touched[i]]);
      }
    } else if (values.absent() == null) {
      addValues(table, groups, begin, end);
    } else {
      addPresent(table, begin, end);
    }
    if (rate < 1) {
      addSampled(table, begin, end);
    }
    if (answers != null) {
      addAnswers(table, begin, end);
    }
    offerExemplars(table, begin, end);
    for (int i = 0; i < groups; i++) {
      tuples[touched[i]] = 0;
    }
  }

  /** Lists the slots of the run and counts the tuples of each; returns the number of slots. */
  private int number(int begin, int end) {
    int groups = 0;
    for (int row = begin; row < end; row++) {
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

  private void addValues(GroupTable table, int groups, int begin, int end) {
    for (int i = 0; i < groups; i++) {
      table.count(found[i], tuples[touched[i]]);
    }
    for (int row = begin; row < end; row++) {
      entries[row] = entryOfSlot[slots.slot(row)];
    }
    table.addValues(entries, values.bits(), begin, end);
  }

  private void addPresent(GroupTable table, int begin, int end) {
    int present = begin;
    for (int row = begin; row < end; row++) {
      int entry = entryOfSlot[slots.slot(row)];
      if (values.isPresent(row)) {
        table.count(entry, 1);
        entries[present] = entry;
        presentBits[present++] = values.at(row);
      } else {
        table.addAbsent(entry, rate);
      }
    }
    table.addValues(entries, presentBits, begin, present);
  }

  private void addSampled(GroupTable table, int begin, int end) {
    long[] flows = rows.flows();
    for (int row = begin; row < end; row++) {
      if (values.isPresent(row)) {
        table.addSampled(entryOfSlot[slots.slot(row)], value(row), rate, flows[row]);
      }
    }
  }

  private double value(int row) {
    return real ? Double.longBitsToDouble(values.at(row)) : values.at(row);
  }

  private void addAnswers(GroupTable table, int begin, int end) {
    for (int row = begin; row < end; row++) {
      if (answers[row] != Answers.WHOLE) {
        table.addAnswer(entryOfSlot[slots.slot(row)], answers[row], rate);
      }
    }
  }

  private void offerExemplars(GroupTable table, int begin, int end) {
    for (int row = begin; row < end; row++) {
      int slot = slots.slot(row);
      if (rows.timeNs(row) <= exemplarsUntilNs[slot] && rows.hasFlow(row)) {
        int entry = entryOfSlot[slot];
        table.offerExemplar(entry, rows.exemplar(row));
        exemplarsUntilNs[slot] = table.exemplarsUntilNs(entry);
      }
    }
  }
}
