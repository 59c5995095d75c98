package io.tapline.flink.ingest;

import io.tapline.aggregates.Wire;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.accounting.Ledger;
import io.tapline.schema.proto.TupleBatch;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.IntPredicate;

/**
 * State of the batch streams in one partition: the newest epoch per monitor and, within that epoch,
 * the next sequence number, the watermark and the end flag per incarnation and lane.
 *
 * <p>A monitor's watermark and end are those of its newest incarnation's lanes, once all of the
 * lanes that its batches announce have sent a batch. A higher epoch belongs to another process. Its
 * incarnation may be lower, if it started earlier on another host, so all lanes are discarded. Not
 * thread-safe.
 */
public final class PartitionLanes {
  /** The decision to process a batch, or the reason why it is dropped. */
  public enum Verdict {
    ACCEPTED,
    /** The batch's sequence number was already seen or skipped. */
    DUPLICATE,
    /** The batch's epoch or incarnation is too old, or the incarnation has too many lanes. */
    SUPERSEDED,
    /** The batch belongs to another query, or comes from a monitor that is not in the plan. */
    FOREIGN,
    /** No monitor can have reached the batch's sequence number or watermark. */
    ABSURD
  }

  /**
   * Maximum distance of a tuple ahead of its lane's watermark. A tuple becomes certain before it is
   * sent, so one further ahead has a wrong time.
   */
  private static final long FAR_AHEAD_NS = 600_000_000_000L;

  /**
   * Maximum distance of a watermark behind the previous one of its lane, since batches of two
   * parsers may be swapped. A watermark further behind indicates that the monitor's clock stepped
   * back.
   */
  private static final long STEP_BACK_NS = 60_000_000_000L;

  /**
   * Maximum number of missing batches. A larger gap means that the sequence number is corrupt; if
   * it were accepted, all later batches would look like duplicates.
   */
  private static final long MAX_MISSING = 1L << 32;

  private static final int MAX_INCARNATIONS = 8;
  private static final int MAX_LANES = 1024;

  private static final class Lane {
    private long nextSequence;
    private long watermarkNs = Long.MIN_VALUE;

    /** Packet time from which the lane has seen all of the query's packets; 0 if unknown. */
    private long watchedSinceNs;

    private boolean ended;
  }

  private static final class Life {
    private final Map<Integer, Lane> lanes = new HashMap<>();

    /** The monitor's watermark when this incarnation began. */
    private final long beganNs;

    private int expected = 1;

    Life(long beganNs) {
      this.beganNs = beganNs;
    }
  }

  private static final class MonitorIncarnations {
    private int epoch;
    private final NavigableMap<Long, Life> lives = new TreeMap<>(Long::compareUnsigned);
    private Unwatched unwatched = new Unwatched();
    private long markNs = Long.MIN_VALUE;
    private boolean ended;
  }

  /**
   * A span of packet time between two incarnations of a monitor, or two batches of a lane.
   *
   * @param fromNs watermark of the earlier incarnation or batch
   * @param toNs time when the later incarnation began to watch, or watermark of the later batch
   */
  record Gap(long fromNs, long toNs) {}

  /**
   * The result of processing a batch's header.
   *
   * @param gap time before the batch that its monitor did not watch; null if there is none
   * @param missing number of batches before this one that never arrived. This field and those that
   *     follow are set only for accepted batches.
   * @param reportedNs time to which the batch's report is attributed: halfway between its lane's
   *     last watermark and its own. No window that has already closed reaches that time.
   * @param covered time between the lane's last watermark and the batch's; null if the lane had
   *     none
   * @param laneNs the lane's watermark
   * @param steppedBack whether the monitor's clock stepped back
   */
  record Admission(
      Verdict verdict,
      Gap gap,
      long missing,
      long reportedNs,
      Gap covered,
      long laneNs,
      boolean steppedBack) {
    private static Admission refused(Verdict verdict, Gap gap) {
      return new Admission(verdict, gap, 0, Ledger.UNDATED, null, Long.MIN_VALUE, false);
    }

    /**
     * Returns true if a tuple with this time is so far ahead of the lane's watermark that the time
     * must be wrong.
     */
    boolean isFarAhead(long timeNs) {
      return laneNs > 0 && timeNs - laneNs > FAR_AHEAD_NS;
    }
  }

  /**
   * A batch's lane.
   *
   * @param lane null if its incarnation is too old or has too many lanes
   * @param gap time before the incarnation that the monitor did not watch; null if there is none
   */
  private record LaneLookup(Lane lane, Gap gap) {}

  private final QuerySpec query;
  private final Map<Integer, MonitorIncarnations> monitors = new HashMap<>();

  /** The {@link Admission#reportedNs} of the last accepted batch that had one. */
  private long reportedNs = Ledger.UNDATED;

  public PartitionLanes(QuerySpec query) {
    this.query = query;
  }

  /** Decides from a batch's header whether to accept it, and updates the lanes. */
  Admission admit(TupleBatch batch) {
    int monitor = query.monitors().indexOf(batch.getMonitor());
    if (monitor < 0 || !batch.getQuery().equals(query.query())) {
      return Admission.refused(Verdict.FOREIGN, null);
    }
    if (batch.getWatermarkNs() > Rows.LATEST_NS) {
      return Admission.refused(Verdict.ABSURD, null);
    }
    MonitorIncarnations lives = monitors.computeIfAbsent(monitor, id -> new MonitorIncarnations());
    int order = Integer.compareUnsigned(batch.getEpoch(), lives.epoch);
    if (order < 0) {
      return Admission.refused(Verdict.SUPERSEDED, null);
    }
    // The sequence number is checked before a lane is created, since a lane that exists only in a
    // corrupt batch would hold the watermark back.
    long next = order > 0 ? 0 : nextSequence(lives, batch);
    if (Long.compareUnsigned(batch.getSequence(), next + MAX_MISSING) > 0) {
      return Admission.refused(Verdict.ABSURD, null);
    }
    Gap replaced = order > 0 ? begin(lives, batch) : null;
    LaneLookup found = lane(lives, batch);
    Gap gap = replaced == null ? found.gap() : replaced;
    Lane lane = found.lane();
    if (lane == null) {
      return Admission.refused(Verdict.SUPERSEDED, gap);
    } else if (Long.compareUnsigned(batch.getSequence(), lane.nextSequence) < 0) {
      return Admission.refused(Verdict.DUPLICATE, gap);
    }
    return accept(lives, lane, batch, gap);
  }

  /** Returns the next sequence number of the batch's lane; 0 for a lane that has not sent yet. */
  private static long nextSequence(MonitorIncarnations monitor, TupleBatch batch) {
    Life life = monitor.lives.get(batch.getIncarnation());
    Lane lane = life == null ? null : life.lanes.get(batch.getLane());
    return lane == null ? 0 : lane.nextSequence;
  }

  /** Begins an epoch. Returns the gap since the previous epoch's monitor; null if there is none. */
  private static Gap begin(MonitorIncarnations monitor, TupleBatch batch) {
    monitor.epoch = batch.getEpoch();
    monitor.lives.clear();
    Gap gap = gap(monitor, batch);
    if (gap != null) {
      monitor.unwatched.set(gap.fromNs(), gap.toNs());
    }
    return gap;
  }

  /**
   * Returns the gap before a new incarnation; null if there is none. The gap ends when the
   * incarnation starts to watch or, while that time is unknown, at the batch's watermark.
   */
  private static Gap gap(MonitorIncarnations monitor, TupleBatch batch) {
    long since = batch.getWatchedSinceNs();
    long toNs = since == 0 || since == Long.MAX_VALUE ? batch.getWatermarkNs() : since;
    return monitor.markNs > 0 && toNs > monitor.markNs ? new Gap(monitor.markNs, toNs) : null;
  }

  private static LaneLookup lane(MonitorIncarnations monitor, TupleBatch batch) {
    var lives = monitor.lives;
    Life life = lives.get(batch.getIncarnation());
    Gap gap = null;
    if (life == null) {
      boolean full = lives.size() == MAX_INCARNATIONS;
      if (full && Long.compareUnsigned(batch.getIncarnation(), lives.firstKey()) < 0) {
        return new LaneLookup(null, null);
      }
      if (full) {
        lives.pollFirstEntry();
      }
      life = new Life(monitor.markNs);
      lives.put(batch.getIncarnation(), life);
      if (lives.size() > 1 && lives.lastEntry().getValue() == life && hasStartTime(batch)) {
        gap = gap(monitor, batch);
      }
    }
    life.expected = Math.max(life.expected, Math.min(batch.getLanes(), MAX_LANES));
    Lane lane = life.lanes.get(batch.getLane());
    if (lane == null && life.lanes.size() < MAX_LANES) {
      lane = new Lane();
      life.lanes.put(batch.getLane(), lane);
    }
    return new LaneLookup(lane, gap);
  }

  private static boolean hasStartTime(TupleBatch batch) {
    return batch.getWatchedSinceNs() != 0;
  }

  private Admission accept(MonitorIncarnations monitor, Lane lane, TupleBatch batch, Gap gap) {
    long missing = batch.getSequence() - lane.nextSequence;
    lane.nextSequence = batch.getSequence() + 1;
    long beforeNs = lane.watermarkNs;
    lane.watermarkNs = Math.max(beforeNs, batch.getWatermarkNs());
    lane.ended |= batch.getEndOfStream();
    if (hasStartTime(batch)) {
      lane.watchedSinceNs = batch.getWatchedSinceNs();
      noteUnwatched(monitor);
    }
    refresh(monitor);
    if (lane.watermarkNs > 0) {
      reportedNs = beforeNs > 0 ? beforeNs + (lane.watermarkNs - beforeNs) / 2 : lane.watermarkNs;
    }
    return new Admission(
        Verdict.ACCEPTED,
        gap,
        missing,
        reportedNs,
        beforeNs > 0 ? new Gap(beforeNs, lane.watermarkNs) : null,
        lane.watermarkNs,
        beforeNs > 0 && batch.getWatermarkNs() < beforeNs - STEP_BACK_NS);
  }

  /**
   * Records that part of the traffic is unseen until every lane of the monitor's newest incarnation
   * is watching.
   */
  private static void noteUnwatched(MonitorIncarnations monitor) {
    Life life = monitor.lives.lastEntry().getValue();
    life.lanes.values().stream()
        .mapToLong(lane -> lane.watchedSinceNs)
        .filter(since -> since != 0)
        .max()
        .ifPresent(since -> monitor.unwatched.set(life.beganNs, since));
  }

  private static void refresh(MonitorIncarnations monitor) {
    Life life = monitor.lives.lastEntry().getValue();
    if (life.lanes.size() < life.expected) {
      return;
    }
    long mark = Long.MAX_VALUE;
    boolean ended = true;
    for (Lane lane : life.lanes.values()) {
      mark = Math.min(mark, lane.watermarkNs);
      ended &= lane.ended;
    }
    monitor.markNs = Math.max(monitor.markNs, mark);
    monitor.ended |= ended;
  }

  /**
   * Returns the time to which a rejected record is attributed: its partition's watermark or, after
   * all its monitors have ended, the time of the last report. A window that reaches beyond this
   * watermark can't have closed, regardless of other partitions.
   */
  public long refusedNs(int partition) {
    long watermark = watermarkNs(partition);
    return watermark == Long.MAX_VALUE ? reportedNs : watermark;
  }

  /**
   * Returns the earliest possible time of this monitor's later tuples; {@link Long#MIN_VALUE} while
   * unknown.
   */
  public long markNs(int monitor) {
    MonitorIncarnations lives = monitors.get(monitor);
    return lives == null ? Long.MIN_VALUE : lives.markNs;
  }

  /** Returns the spans that the monitor did not watch; none before its first batch. */
  Unwatched unwatched(int monitor) {
    MonitorIncarnations lives = monitors.get(monitor);
    return lives == null ? new Unwatched() : lives.unwatched;
  }

  public boolean ended(int monitor) {
    MonitorIncarnations lives = monitors.get(monitor);
    return lives != null && lives.ended;
  }

  /** Returns true if every monitor that the plan assigns to {@code partition} has ended. */
  public boolean allEnded(int partition) {
    for (int i = 0; i < query.monitors().size(); i++) {
      if (query.partitions().get(i) == partition && !ended(i)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns the lowest watermark of the monitors that the plan assigns to {@code partition},
   * excluding ended ones; {@link Long#MAX_VALUE} if all have ended.
   */
  public long watermarkNs(int partition) {
    return watermarkNs(partition, monitor -> false);
  }

  /**
   * Returns the lowest watermark of the partition's monitors, excluding those that match {@code
   * without} unless all others have ended.
   */
  long watermarkNs(int partition, IntPredicate without) {
    long all = Long.MAX_VALUE;
    long minMarkNs = Long.MAX_VALUE;
    for (int i = 0; i < query.monitors().size(); i++) {
      if (query.partitions().get(i) == partition && !ended(i)) {
        all = Math.min(all, markNs(i));
        minMarkNs = without.test(i) ? minMarkNs : Math.min(minMarkNs, markNs(i));
      }
    }
    return minMarkNs == Long.MAX_VALUE ? all : minMarkNs;
  }

  public void write(DataOutput out) throws IOException {
    out.writeLong(reportedNs);
    Wire.writeUnsigned(out, monitors.size());
    for (var entry : monitors.entrySet()) {
      Wire.writeText(out, query.monitors().get(entry.getKey()));
      writeMonitor(out, entry.getValue());
    }
  }

  private static void writeMonitor(DataOutput out, MonitorIncarnations monitor) throws IOException {
    out.writeInt(monitor.epoch);
    out.writeLong(monitor.markNs);
    out.writeBoolean(monitor.ended);
    monitor.unwatched.write(out);
    Wire.writeUnsigned(out, monitor.lives.size());
    for (var life : monitor.lives.entrySet()) {
      out.writeLong(life.getKey());
      out.writeLong(life.getValue().beganNs);
      Wire.writeUnsigned(out, life.getValue().expected);
      Wire.writeUnsigned(out, life.getValue().lanes.size());
      for (var lane : life.getValue().lanes.entrySet()) {
        out.writeInt(lane.getKey());
        out.writeLong(lane.getValue().nextSequence);
        out.writeLong(lane.getValue().watermarkNs);
        out.writeLong(lane.getValue().watchedSinceNs);
        out.writeBoolean(lane.getValue().ended);
      }
    }
  }

  /** Reads the state that {@link #write} wrote; skips monitors that the plan no longer names. */
  public void read(DataInput in) throws IOException {
    reportedNs = in.readLong();
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      int monitor = query.monitors().indexOf(Wire.readText(in));
      MonitorIncarnations lives = readMonitor(in);
      if (monitor >= 0) {
        monitors.put(monitor, lives);
      }
    }
  }

  private static MonitorIncarnations readMonitor(DataInput in) throws IOException {
    MonitorIncarnations monitor = new MonitorIncarnations();
    monitor.epoch = in.readInt();
    monitor.markNs = in.readLong();
    monitor.ended = in.readBoolean();
    monitor.unwatched = Unwatched.read(in);
    for (long lives = Wire.readUnsigned(in); lives > 0; lives--) {
      long incarnation = in.readLong();
      Life life = new Life(in.readLong());
      monitor.lives.put(incarnation, life);
      life.expected = (int) Wire.readUnsigned(in);
      for (long i = Wire.readUnsigned(in); i > 0; i--) {
        Lane lane = new Lane();
        life.lanes.put(in.readInt(), lane);
        lane.nextSequence = in.readLong();
        lane.watermarkNs = in.readLong();
        lane.watchedSinceNs = in.readLong();
        lane.ended = in.readBoolean();
      }
    }
    return monitor;
  }
}
