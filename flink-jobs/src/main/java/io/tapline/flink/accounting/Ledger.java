package io.tapline.flink.accounting;

import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * Accounts by packet time, so that each window reports its own packets and tuples. A slot's length
 * is the greatest common divisor of all processors' pane lengths. Not thread-safe.
 */
public final class Ledger {
  /** Time of events that precede the first time reported by any monitor. */
  public static final long UNDATED = Long.MIN_VALUE;

  /**
   * Maximum number of slots. Only a hostile sender can cause more between two flushes; counts of
   * further slots go to the last slot.
   */
  private static final int MAX_SLOTS = 4096;

  private final int processors;
  private final long slotNs;
  private final TreeMap<Long, Accounts> slots = new TreeMap<>();

  /**
   * Creates an empty ledger.
   *
   * @param slotNs greatest common divisor of all processors' pane lengths
   */
  public Ledger(int processors, long slotNs) {
    this.processors = processors;
    this.slotNs = slotNs;
  }

  /** Returns the accounts to which events at {@code timeNs} are added. */
  public Accounts at(long timeNs) {
    long start = slotOf(timeNs);
    Accounts knownAccounts = slots.get(start);
    if (knownAccounts != null) {
      return knownAccounts;
    }
    if (slots.size() >= MAX_SLOTS) {
      return slots.lastEntry().getValue();
    }
    Accounts addedAccounts = new Accounts(processors);
    slots.put(start, addedAccounts);
    return addedAccounts;
  }

  /** Adds the tuples of one batch, each at its own time. */
  public void addRows(long[] timesNs, double rate) {
    long start = 0;
    Accounts accounts = null;
    for (long time : timesNs) {
      if (accounts == null || time < start || time >= start + slotNs) {
        start = slotOf(time);
        accounts = at(time);
      }
      accounts.addRows(1, rate);
    }
  }

  private long slotOf(long timeNs) {
    return timeNs == UNDATED ? UNDATED : Math.floorDiv(timeNs, slotNs) * slotNs;
  }

  public boolean isEmpty() {
    return slots.values().stream().allMatch(Accounts::isEmpty);
  }

  /** Passes each slot's start, or {@link #UNDATED}, and its accounts to {@code reader}. */
  public void forEach(BiConsumer<Long, Accounts> reader) {
    slots.forEach(reader);
  }

  public void write(DataOutput out) throws IOException {
    Wire.writeUnsigned(out, slots.size());
    for (Map.Entry<Long, Accounts> slot : slots.entrySet()) {
      out.writeLong(slot.getKey());
      slot.getValue().write(out);
    }
  }

  /** Adds the accounts that {@link #write} wrote. */
  public void read(DataInput in) throws IOException {
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      at(in.readLong()).add(Accounts.read(in, processors));
    }
  }
}
