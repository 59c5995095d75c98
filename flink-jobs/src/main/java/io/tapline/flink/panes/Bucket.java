package io.tapline.flink.panes;

import io.tapline.aggregates.Wire;
import io.tapline.flink.JobOptions;
import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.StateFormat;
import io.tapline.flink.accounting.Ledger;
import io.tapline.flink.ingest.Mark;
import io.tapline.flink.results.BucketReport;
import io.tapline.flink.results.WindowRows;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.core.memory.DataInputDeserializer;

/**
 * The groups of all tables of {@link QuerySpec#tables} in one bucket, and the monitors' progress as
 * reported to it.
 */
final class Bucket {
  final ProcessorPanes[] tables;
  private final int processors;
  private final Progress progress;
  private final long slotNs;
  private long reportedWatermarkNs = Long.MIN_VALUE;

  Bucket(QuerySpec query, JobOptions options, int buckets) {
    progress = new Progress(query.monitors().size());
    slotNs = query.slotNs();
    processors = query.processors().size();
    tables = new ProcessorPanes[query.tables().size()];
    int operand = processors;
    for (ProcessorSpec spec : query.processors()) {
      int groups = Math.max(1, options.maxGroups() / buckets / spec.weight());
      ProcessorPanes panes = new ProcessorPanes(spec, groups, options.maxRows());
      tables[spec.index()] = panes;
      for (ProcessorPanes ofOperand : panes.operands()) {
        tables[operand++] = ofOperand;
      }
    }
  }

  /**
   * Processes one record of a flush.
   *
   * @return the report for the results operator; null if there is none
   */
  BucketReport take(int bucket, DataInputDeserializer in) throws IOException {
    List<Mark> marks = new ArrayList<>();
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      marks.add(Mark.read(in));
    }
    Ledger accounts = new Ledger(processors, slotNs);
    if (in.readBoolean()) {
      accounts.read(in);
    }
    while (in.available() > 0) {
      int table = (int) Wire.readUnsigned(in);
      tables[table].add(in, progress.watermarkNs(), accounts);
    }
    progress.take(marks);
    return report(bucket, accounts);
  }

  private BucketReport report(int bucket, Ledger accounts) {
    List<WindowRows> closed = new ArrayList<>();
    for (int i = 0; i < processors; i++) {
      tables[i].advance(progress, closed);
    }
    long watermark = progress.watermarkNs();
    if (closed.isEmpty() && accounts.isEmpty() && watermark == reportedWatermarkNs) {
      return null;
    }
    reportedWatermarkNs = watermark;
    long observed = progress.allEnded() ? progress.lastMarkNs() : Long.MAX_VALUE;
    return new BucketReport(bucket, watermark, observed, accounts, closed);
  }

  void writeHeader(DataOutput out) throws IOException {
    StateFormat.write(out);
    progress.write(out);
    for (ProcessorPanes panes : tables) {
      panes.writeHeader(out);
    }
  }

  void readHeader(DataInput in) throws IOException {
    StateFormat.require(in);
    progress.read(in);
    for (ProcessorPanes panes : tables) {
      panes.readHeader(in);
    }
    reportedWatermarkNs = progress.watermarkNs();
  }
}
