package io.tapline.flink.ingest;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.accounting.Accounts;
import io.tapline.flink.accounting.Ledger;
import io.tapline.flink.group.Answers;
import io.tapline.flink.ingest.PartitionLanes.Admission;
import io.tapline.schema.BatchReaderException;
import io.tapline.schema.proto.Accounting;
import io.tapline.schema.proto.TupleBatch;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Turns batches into records for the buckets (see {@link Flush}): drops duplicates, pairs each
 * flow's tuples, and combines tuples per pane.
 *
 * <p>The operator is chained to the source. It flushes its partial aggregates when the watermark of
 * its partitions enters another pane, before each checkpoint, when a monitor is found to be silent,
 * when there are too many groups, and at the end, so the operator itself is stateless. A
 * partition's state arrives with each record and is saved by the source (see {@link EndingReader}).
 */
public final class IngestOperator extends AbstractStreamOperator<Tuple2<Integer, byte[]>>
    implements OneInputStreamOperator<Record, Tuple2<Integer, byte[]>> {

  /** Number of combined groups above which the operator flushes. */
  private static final int MAX_GROUPS = 1 << 17;

  private static final long SECOND_NS = 1_000_000_000L;

  private static final long MAX_GAP_SECONDS = 3_600;

  /**
   * Minimum gap between batches that indicates a suspended monitor; much longer than the heartbeat
   * interval.
   */
  private static final long LONG_BETWEEN_BATCHES_NS = 2 * SECOND_NS;

  private final QuerySpec query;

  private transient Map<Integer, PartitionState> partitions;
  private transient RowFilter where;
  private transient List<ProcessorSpec> tables;
  private transient Combiner[] combiners;
  private transient Ledger ledger;
  private transient long slotNs;
  private transient Flush flush;
  private transient long[] paneOfWatermark;
  private transient int knownPartitions;

  public IngestOperator(QuerySpec query) {
    this.query = query;
  }

  @Override
  public void open() throws Exception {
    super.open();
    partitions = new HashMap<>();
    where = new RowFilter(query.filters());
    tables = query.tables();
    combiners = tables.stream().map(Combiner::new).toArray(Combiner[]::new);
    slotNs = query.slotNs();
    ledger = newLedger();
    flush = new Flush(query, output);
    paneOfWatermark = new long[query.processors().size()];
  }

  private Ledger newLedger() {
    return new Ledger(query.processors().size(), slotNs);
  }

  @Override
  public void processElement(StreamRecord<Record> element) throws Exception {
    Record record = element.getValue();
    PartitionState partition = record.state();
    partitions.put(record.partition(), partition);
    if (record.isSilence()) {
      sendOn();
      return;
    }
    if (record.fault() == null) {
      admit(partition, record.batch());
    } else {
      refused(partition).drop(record.fault(), 1);
    }
    refused(partition).addRecord();
    if (watermarkEnteredPane() || groups() > MAX_GROUPS) {
      sendOn();
    }
  }

  private void admit(PartitionState partition, TupleBatch batch) {
    partition.markActive(batch.getMonitor());
    Admission admission = partition.lanes.admit(batch);
    reportGap(admission.gap());
    switch (admission.verdict()) {
      case DUPLICATE -> refused(partition).addDuplicate();
      case SUPERSEDED -> refused(partition).drop("superseded_batch", 1);
      case FOREIGN -> refused(partition).drop("foreign_batch", 1);
      case ABSURD -> refused(partition).drop("malformed_batch", 1);
      case ACCEPTED -> accept(partition, batch, admission);
    }
  }

  private void accept(PartitionState partition, TupleBatch batch, Admission admission) {
    Accounts accounts = ledger.at(admission.reportedNs());
    accounts.drop("missing_batch", admission.missing());
    accounts.addSeen(batch.getAccounting());
    addLost(admission.covered(), accounts, batch.getAccounting());
    if (admission.steppedBack()) {
      accounts.addClockStep();
    }
    addRows(partition, batch, admission, accounts);
    partition.advance(combiners, accounts);
  }

  /**
   * Adds a batch's losses. After a suspension, a monitor reports the kernel's drops of many seconds
   * in one batch. Their distribution over time is unknown, so each second gets the same share.
   */
  private void addLost(PartitionLanes.Gap time, Accounts accounts, Accounting accounting) {
    if (time == null || !wasSuspended(time, accounting)) {
      accounts.addLost(accounting, 0, 1);
      return;
    }
    long first = time.fromNs() / SECOND_NS;
    long parts = Math.min(time.toNs() / SECOND_NS - first, MAX_GAP_SECONDS) + 1;
    for (long part = 0; part < parts; part++) {
      ledger
          .at(Math.max(time.fromNs(), (first + part) * SECOND_NS))
          .addLost(accounting, part, parts);
    }
  }

  private static boolean wasSuspended(PartitionLanes.Gap time, Accounting accounting) {
    return time.toNs() - time.fromNs() > LONG_BETWEEN_BATCHES_NS
        && accounting.getDroppedList().stream()
            .anyMatch(loss -> loss.getReason().equals("kernel_missed"));
  }

  /** Counts one drop per second of a gap, since the number of unseen packets is unknown. */
  private void reportGap(PartitionLanes.Gap gap) {
    if (gap == null) {
      return;
    }
    long first = gap.fromNs() / SECOND_NS;
    long last = Math.min(gap.toNs() / SECOND_NS, first + MAX_GAP_SECONDS);
    for (long second = first; second <= last; second++) {
      ledger.at(Math.max(gap.fromNs(), second * SECOND_NS)).drop("monitor_replaced", 1);
    }
  }

  private Accounts refused(PartitionState partition) {
    return ledger.at(partition.lanes.refusedNs(partition.partition));
  }

  /**
   * Adds all rows of a batch that the query wants, or none if the batch is malformed or too far
   * ahead. The batch's header has already been counted.
   */
  private void addRows(
      PartitionState partition, TupleBatch batch, Admission admission, Accounts accounts) {
    if (batch.getRows() == 0) {
      return;
    }
    try {
      Rows all = new Rows(batch);
      TupleBatch wantedBatch = where.filter(batch);
      Rows rows = wantedBatch == batch ? all : new Rows(wantedBatch);
      for (int table = 0; table < combiners.length; table++) {
        require(partition, table, rows, batch.getParser());
      }
      if (admission.isFarAhead(all.latestNs())) {
        accounts.drop("far_future", all.count());
        return;
      }
      ledger.addRows(all.timesNs(), all.samplingRate());
      for (int table = 0; table < combiners.length; table++) {
        add(partition, table, rows, batch.getParser(), accounts);
      }
      for (ProcessorSpec spec : query.processors()) {
        if (rows.answers() != null && batch.getParser().equals(spec.parser())) {
          addAnswers(spec, rows);
        }
      }
    } catch (BatchReaderException e) {
      LOG.debug("batch {} of {}: {}", batch.getSequence(), batch.getMonitor(), e.getMessage());
      accounts.drop("malformed_batch", 1);
    }
  }

  private void addAnswers(ProcessorSpec spec, Rows rows) {
    for (int row = 0; row < rows.count(); row++) {
      byte response = rows.answers()[row];
      if (response != Answers.WHOLE) {
        ledger.at(rows.timeNs(row)).processor(spec.index()).addAnswer(response);
      }
    }
  }

  private void require(PartitionState partition, int table, Rows rows, String parser)
      throws BatchReaderException {
    ProcessorSpec spec = tables.get(table);
    if (!spec.isPaired() && parser.equals(spec.parser())) {
      combiners[table].require(rows);
    } else if (spec.isPaired() && reads(spec, parser)) {
      partition.pairing(spec).require(rows, parser);
    }
  }

  private void add(
      PartitionState partition, int table, Rows rows, String parser, Accounts accounts) {
    ProcessorSpec spec = tables.get(table);
    Combiner combiner = combiners[table];
    if (!spec.isPaired() && parser.equals(spec.parser())) {
      combiner.add(rows);
    } else if (spec.isPaired() && reads(spec, parser)) {
      partition.pairing(spec).add(rows, parser, combiner, accounts.processor(spec.index()));
    }
  }

  private static boolean reads(ProcessorSpec spec, String parser) {
    return parser.equals(spec.parser()) || parser.equals(spec.key().joinParser());
  }

  /**
   * Returns true if the lowest watermark of the subtask's partitions entered another pane, or if
   * another partition's watermark became known. Only then can a window close, so there is no need
   * to flush more often.
   */
  private boolean watermarkEnteredPane() {
    long watermark = Long.MAX_VALUE;
    int known = 0;
    for (PartitionState partition : partitions.values()) {
      long own = partition.watermarkNs();
      watermark = Math.min(watermark, own);
      known += own == Long.MIN_VALUE ? 0 : 1;
    }
    boolean entered = known > knownPartitions;
    knownPartitions = known;
    for (ProcessorSpec spec : query.processors()) {
      long pane = spec.window().paneOf(watermark);
      entered |= pane != paneOfWatermark[spec.index()];
      paneOfWatermark[spec.index()] = pane;
    }
    return entered;
  }

  private int groups() {
    int groups = 0;
    for (Combiner combiner : combiners) {
      groups += combiner.groups();
    }
    return groups;
  }

  private void sendOn() throws Exception {
    flush.send(partitions.values(), combiners, ledger);
    ledger = newLedger();
  }

  @Override
  public void prepareSnapshotPreBarrier(long checkpointId) throws Exception {
    sendOn();
  }

  @Override
  public void finish() throws Exception {
    sendOn();
    super.finish();
  }
}
