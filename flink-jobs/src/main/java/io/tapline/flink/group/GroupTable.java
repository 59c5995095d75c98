package io.tapline.flink.group;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.Details;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.aggregates.Value;
import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;

/**
 * A table of groups by key, with their aggregates in parallel arrays behind an open-addressing
 * index.
 *
 * <p>An entry is a number from 0 (inclusive) to {@link #size} (exclusive); entries never move and
 * are never removed. Values are whole numbers ({@code long}) or, in a table of reals, the bits of
 * doubles. The table counts tuples and corrects for sampling; its {@link Accumulators} contain
 * everything that depends on the aggregate. Not thread-safe.
 */
public final class GroupTable {
  /**
   * Number of replicate groups, to which flows are assigned by hash. The error of a sum is derived
   * from the variance between the groups.
   */
  static final int REPLICATES = 16;

  private static final int FIRST_REPLICATE = 2;
  private static final double ALONE = Student.quantile(1);

  private final MergeableAggregate aggregate;
  private final Accumulators accumulators;
  private final int flowsKept;

  /** Number of doubles per entry that correct for sampling; see {@link #addSampled}. */
  private final int corrected;

  private final KeyIndex keys = new KeyIndex();
  private long[] counts = new long[16];

  /** Buffers for a single value and its entry. */
  private final long[] one = new long[1];

  private final int[] oneEntry = new int[1];

  /**
   * Each entry's exemplars, the flow with the earliest end first (see {@link Exemplar#toBytes}).
   */
  private byte[][] flows;

  /** End time of each entry's last exemplar, once all of the entry's slots are taken. */
  private long[] flowsUntilNs;

  private double[] corrections;

  /** Null until a tuple is tallied. */
  private Tallies tallies;

  public GroupTable(MergeableAggregate aggregate) {
    this(aggregate, Exemplars.MAX_EXEMPLARS);
  }

  /**
   * Creates an empty table.
   *
   * @param flowsKept exemplars per group; 0 for none
   */
  public GroupTable(MergeableAggregate aggregate, int flowsKept) {
    this.aggregate = aggregate;
    this.accumulators = aggregate.accumulators();
    this.flowsKept = flowsKept;
    this.corrected = FIRST_REPLICATE + (aggregate.estimatesTotals() ? 2 : 1) * REPLICATES;
    growTo(16);
  }

  public int size() {
    return keys.size();
  }

  /** Returns true if any tuple came with a sampling rate below 1. */
  public boolean sampled() {
    return corrections != null || tallies != null && tallies.sampled();
  }

  public boolean real() {
    return accumulators.isReal();
  }

  /** Declares that values are doubles. REQUIRES: no value has been added yet. */
  public void holdReals() {
    accumulators.holdReals();
  }

  /** Returns the entry of {@code key}, or -1. */
  public int find(byte[] key, long hash) {
    return keys.find(key, 0, key.length, hash);
  }

  /** Returns the entry of the key in a buffer; adds the key if it is new. */
  public int findOrAdd(KeyBuffer key) {
    long hash = key.hash();
    int entry = keys.find(key.array(), 0, key.length(), hash);
    return entry >= 0 ? entry : add(Arrays.copyOf(key.array(), key.length()), hash);
  }

  /** Returns the entry of {@code key}; adds the key if it is new. The table keeps the array. */
  public int findOrAdd(byte[] key, long hash) {
    int entry = find(key, hash);
    return entry >= 0 ? entry : add(key, hash);
  }

  /**
   * Looks up the keys of {@code list} at the first {@code count} positions in {@code wanted}, and
   * adds those that are new.
   *
   * @param entries receives the keys' entries, in the order of {@code wanted}
   */
  public void findOrAdd(KeyList list, int[] wanted, int count, int[] entries) {
    keys.find(list, wanted, count, entries);
    for (int i = 0; i < count; i++) {
      if (entries[i] < 0) {
        // The key may occur twice in the list, so it is looked up again before it is added.
        entries[i] = findOrAdd(list.copy(wanted[i]), list.hash(wanted[i]));
      }
    }
  }

  private int add(byte[] key, long hash) {
    int entry = keys.add(key, hash);
    if (entry == counts.length) {
      growTo(2 * entry);
    }
    if (flowsUntilNs != null) {
      flowsUntilNs[entry] = Long.MAX_VALUE;
    }
    return entry;
  }

  private void growTo(int capacity) {
    counts = Arrays.copyOf(counts, capacity);
    accumulators.growTo(capacity);
    flows = flows == null ? null : Arrays.copyOf(flows, capacity * flowsKept);
    corrections = corrections == null ? null : Arrays.copyOf(corrections, capacity * corrected);
    flowsUntilNs = flowsUntilNs == null ? null : Arrays.copyOf(flowsUntilNs, capacity);
    if (tallies != null) {
      tallies.growTo(capacity);
    }
  }

  /** Counts tuples without adding a value. */
  public void count(int entry, int tuples) {
    counts[entry] += tuples;
  }

  /**
   * Adds the values of tuples that were counted: {@code values[i]} to {@code entries[i]} for i from
   * {@code begin} (inclusive) to {@code end} (exclusive).
   *
   * @param values bits of doubles in a table of reals, or hashes if the aggregate takes those
   */
  public void addValues(int[] entries, long[] values, int begin, int end) {
    accumulators.add(entries, values, begin, end);
  }

  /** Counts a tuple and adds its value. */
  public void addValue(int entry, long value) {
    counts[entry]++;
    oneEntry[0] = entry;
    one[0] = value;
    accumulators.add(oneEntry, one, 0, 1);
  }

  /**
   * Counts a tuple that has no value and therefore does not affect the aggregate.
   *
   * @param rate sampling rate of the flows
   */
  public void addAbsent(int entry, double rate) {
    tallies().add(entry, Tallies.ABSENT, rate);
  }

  /**
   * Counts the answer state of a tuple, in addition to the tuple itself.
   *
   * @param response one of {@link Answers}, except {@link Answers#WHOLE}
   */
  public void addAnswer(int entry, byte response, double rate) {
    tallies().add(entry, response, rate);
  }

  private Tallies tallies() {
    if (tallies == null) {
      tallies = new Tallies(counts.length);
    }
    return tallies;
  }

  /**
   * Corrects for a tuple kept with probability p below 1, which represents w = 1/p tuples of its
   * value v (the Horvitz-Thompson estimator). Adds w-1 and (w-1)v to the entry's sums and, for the
   * variance, d and dv to the sums of the flow's replicate group, with d² = (1-p)/p².
   *
   * <p>The tuples of a flow are kept or lost together, so the variance is between flows. Each flow
   * contributes the square of its sum of dv to the expected variance, which the spread between
   * groups estimates. A flow's group depends on other bits of its hash than sampling uses.
   */
  public void addSampled(int entry, double value, double rate, long flow) {
    if (corrections == null) {
      corrections = new double[counts.length * corrected];
    }
    double furtherWeight = 1 / rate - 1;
    double deviation = Math.sqrt(1 - rate) / rate;
    int offset = entry * corrected;
    int group = offset + FIRST_REPLICATE + (int) (flow * 0xd6e8feb86659fd93L >>> 60);
    corrections[offset] += furtherWeight;
    corrections[offset + 1] += furtherWeight * value;
    corrections[group] += deviation;
    if (aggregate.estimatesTotals()) {
      corrections[group + REPLICATES] += deviation * value;
    }
  }

  /** Returns the latest end time with which a flow can still become an exemplar of the group. */
  public long exemplarsUntilNs(int entry) {
    if (flowsKept == 0) {
      return Long.MIN_VALUE;
    }
    return flowsUntilNs == null ? Long.MAX_VALUE : flowsUntilNs[entry];
  }

  public void offerExemplar(int entry, Exemplar exemplar) {
    offerFlow(entry, exemplar.toBytes());
  }

  private void offerFlow(int entry, byte[] flow) {
    if (flows == null) {
      flows = new byte[counts.length * flowsKept][];
      flowsUntilNs = new long[counts.length];
      Arrays.fill(flowsUntilNs, Long.MAX_VALUE);
    }
    int first = entry * flowsKept;
    byte[] moved = flow;
    for (int place = first; place < first + flowsKept && moved != null; place++) {
      if (flows[place] == null || Arrays.compareUnsigned(moved, flows[place]) < 0) {
        byte[] replaced = flows[place];
        flows[place] = moved;
        moved = replaced;
      }
    }
    byte[] last = flows[first + flowsKept - 1];
    flowsUntilNs[entry] = last == null ? Long.MAX_VALUE : Exemplar.endNs(last);
  }

  /** Adds a group's exemplars to {@code target}. */
  public void exemplars(int entry, Exemplars target) {
    for (int i = 0; flows != null && i < flowsKept; i++) {
      byte[] flow = flows[entry * flowsKept + i];
      if (flow != null) {
        target.offer(flow);
      }
    }
  }

  public byte[] key(int entry) {
    return keys.key(entry);
  }

  public long hash(int entry) {
    return keys.hash(entry);
  }

  /** Returns the unscaled number of the group's tuples with a value. */
  public long tuples(int entry) {
    return counts[entry];
  }

  /** Returns true if the group has no tuples, with or without a value. */
  public boolean isEmpty(int entry) {
    return counts[entry] == 0 && absent(entry) == 0;
  }

  private long absent(int entry) {
    return tallies == null ? 0 : tallies.count(entry, Tallies.ABSENT);
  }

  /** Returns the scaled number of the group's tuples of one kind (see {@link Tallies}). */
  Value tally(int entry, int kind) {
    return tallies == null ? Value.whole(0) : tallies.value(entry, kind);
  }

  /**
   * Returns an estimate whose bounds each have 95 % confidence, for aggregates without parameters.
   */
  public Estimate estimate() {
    return estimate(ALONE, 0, 0, false);
  }

  /**
   * Returns an estimate of the groups' results.
   *
   * @param width width of the bounds; see {@link Student#quantile}
   * @param share fraction of the values below the quantile, for quantile aggregates
   * @param windowNs length of the window
   * @param countsTuples whether tuples are only counted, because they have no other value
   */
  public Estimate estimate(double width, double share, long windowNs, boolean countsTuples) {
    return new Estimate(this, width, share, windowNs, countsTuples);
  }

  MergeableAggregate aggregate() {
    return aggregate;
  }

  Value result(int entry, Estimate context) {
    return accumulators.result(entry, context);
  }

  Details details(int entry, Estimate context) {
    return accumulators.details(entry, context);
  }

  /** Returns a group's value if it is cheap to compute and not an estimate; NaN otherwise. */
  public double glance(int entry) {
    return sampled() ? Double.NaN : accumulators.glance(entry, counts[entry]);
  }

  /** Returns the sum of w-1 ({@code which} is 0) or of (w-1)v (1); see {@link #addSampled}. */
  double correction(int entry, int which) {
    return corrections == null ? 0 : corrections[entry * corrected + which];
  }

  /** Returns one replicate group's sum of d, or of dv. */
  double replicate(int entry, boolean ofValues, int group) {
    int which = FIRST_REPLICATE + (ofValues ? REPLICATES : 0) + group;
    return correction(entry, which);
  }

  /**
   * Adds all of {@code addedTable} except its exemplars, which a window reads from its panes.
   *
   * @return for each entry of {@code addedTable}, its entry in this table
   */
  public int[] add(GroupTable addedTable) {
    if (addedTable.real()) {
      holdReals();
    }
    int[] places = new int[addedTable.size()];
    for (int entry = 0; entry < places.length; entry++) {
      places[entry] = findOrAdd(addedTable.key(entry), addedTable.hash(entry));
      addEntry(places[entry], addedTable, entry);
    }
    return places;
  }

  private void addEntry(int entry, GroupTable addedTable, int otherEntry) {
    counts[entry] += addedTable.counts[otherEntry];
    accumulators.merge(entry, addedTable.accumulators, otherEntry);
    if (addedTable.corrections != null) {
      addCorrections(entry, addedTable.corrections, otherEntry * corrected);
    }
    if (addedTable.tallies != null) {
      tallies().add(entry, addedTable.tallies, otherEntry);
    }
  }

  private void addCorrections(int entry, double[] source, int offset) {
    if (corrections == null) {
      corrections = new double[counts.length * corrected];
    }
    for (int i = 0; i < corrected; i++) {
      corrections[entry * corrected + i] += source[offset + i];
    }
  }

  /** Adds the exemplars of {@code addedTable}. REQUIRES: {@link #add} was called with it. */
  public void addExemplars(GroupTable addedTable) {
    for (int i = 0; addedTable.flows != null && i < addedTable.size() * addedTable.flowsKept; i++) {
      if (addedTable.flows[i] != null) {
        int theirs = i / addedTable.flowsKept;
        offerFlow(find(addedTable.key(theirs), addedTable.hash(theirs)), addedTable.flows[i]);
      }
    }
  }

  /**
   * Undoes {@link #add} of {@code subtracted}, except that its entries remain. REQUIRES: {@link
   * #isSubtractable} is true for both.
   *
   * @param places result of {@link #add}
   */
  public void subtract(GroupTable subtracted, int[] places) {
    for (int i = 0; i < places.length; i++) {
      int entry = places[i];
      counts[entry] -= subtracted.counts[i];
      accumulators.subtract(entry, subtracted.accumulators, i);
      if (subtracted.tallies != null) {
        tallies.subtract(entry, subtracted.tallies, i);
      }
    }
  }

  /** Returns true if {@link #subtract} would undo every {@link #add}. */
  public boolean isSubtractable() {
    return accumulators.isSubtractable()
        && !real()
        && !sampled()
        && !accumulators.mayHaveSaturated(size());
  }

  /** Writes an entry for {@link #readEntry}. */
  public void writeEntry(DataOutput out, int entry) throws IOException {
    Wire.writeBytes(out, key(entry));
    out.writeLong(hash(entry));
    Wire.writeUnsigned(out, counts[entry]);
    accumulators.write(out, entry);
    writeCorrections(out, entry);
    Tallies.write(out, tallies, entry);
    writeFlows(out, entry);
  }

  private void writeFlows(DataOutput out, int entry) throws IOException {
    int first = entry * flowsKept;
    int count = 0;
    while (flows != null && count < flowsKept && flows[first + count] != null) {
      count++;
    }
    out.writeByte(count);
    for (int place = first; place < first + count; place++) {
      Wire.writeBytes(out, flows[place]);
    }
  }

  /**
   * Writes a bit set of the nonzero corrections, then their values. A group with few flows has few
   * nonzero corrections.
   */
  private void writeCorrections(DataOutput out, int entry) throws IOException {
    long some = 0;
    for (int i = 0; corrections != null && i < corrected; i++) {
      some |= correction(entry, i) == 0 ? 0 : 1L << i;
    }
    Wire.writeUnsigned(out, some);
    for (int i = 0; some != 0 && i < corrected; i++) {
      if ((some & 1L << i) != 0) {
        out.writeDouble(correction(entry, i));
      }
    }
  }

  /**
   * Adds an entry that was written by {@link #writeEntry} of a table with the same aggregate.
   *
   * @param hasRoom whether a new key may be added
   * @return the entry or, if there was no room for it, -1 minus the number of its tuples, with or
   *     without a value
   */
  public long readEntry(DataInput in, boolean hasRoom) throws IOException {
    byte[] key = Wire.readBytes(in);
    long hash = in.readLong();
    int known = find(key, hash);
    GroupTable target = known < 0 && !hasRoom ? new GroupTable(aggregate) : this;
    if (real()) {
      target.holdReals();
    }
    int entry = known >= 0 ? known : target.add(key, hash);
    long tuples = Wire.readUnsigned(in);
    target.counts[entry] += tuples;
    target.readValues(in, entry);
    return target == this ? entry : -1 - tuples - target.absent(entry);
  }

  private void readValues(DataInput in, int entry) throws IOException {
    accumulators.read(in, entry);
    readCorrections(in, entry);
    Tallies read = Tallies.read(in);
    if (read != null) {
      tallies().add(entry, read, 0);
    }
    for (int i = in.readByte(); i > 0; i--) {
      offerFlow(entry, Wire.readBytes(in));
    }
  }

  private void readCorrections(DataInput in, int entry) throws IOException {
    long some = Wire.readUnsigned(in);
    if (some == 0) {
      return;
    }
    double[] read = new double[corrected];
    for (int i = 0; i < corrected; i++) {
      read[i] = (some & 1L << i) != 0 ? in.readDouble() : 0;
    }
    addCorrections(entry, read, 0);
  }
}
