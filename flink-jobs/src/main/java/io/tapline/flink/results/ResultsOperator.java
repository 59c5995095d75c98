package io.tapline.flink.results;

import io.tapline.flink.JobOptions;
import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.StateFormat;
import io.tapline.flink.accounting.Accounts;
import io.tapline.flink.ingest.Buckets;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Turns the reports of all buckets into updates. Merges the buckets' rows of a window into one
 * ranking once every bucket has passed the window's end. Runs as one subtask, since a ranking can't
 * be split; its input is small.
 */
public final class ResultsOperator extends AbstractStreamOperator<Update>
    implements OneInputStreamOperator<byte[], Update> {

  private final QuerySpec query;
  private final JobOptions options;

  private transient ListState<byte[]> state;
  private transient OpenWindows windows;
  private transient Accounts total;
  private transient List<WindowAccounts> accounts;
  private transient long slotNs;
  private transient List<ProcessorMerge> merges;

  public ResultsOperator(QuerySpec query, JobOptions options) {
    this.query = query;
    this.options = options;
  }

  @Override
  public void initializeState(StateInitializationContext context) throws Exception {
    super.initializeState(context);
    windows = new OpenWindows(Buckets.COUNT);
    total = new Accounts(query.processors().size());
    accounts = new ArrayList<>();
    slotNs = query.slotNs();
    merges = new ArrayList<>();
    for (ProcessorSpec spec : query.processors()) {
      merges.add(new ProcessorMerge(spec, options.maxRows()));
      accounts.add(new WindowAccounts(spec, query.processors().size()));
    }
    state =
        context
            .getOperatorStateStore()
            .getListState(
                new ListStateDescriptor<>(
                    "results", PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO));
    for (byte[] bytes : state.get()) {
      read(new DataInputDeserializer(bytes));
    }
  }

  @Override
  public void processElement(StreamRecord<byte[]> element) throws Exception {
    BucketReport report = BucketReport.read(element.getValue(), query.processors().size(), slotNs);
    report.accounts().forEach(this::take);
    long previousWatermarkNs = windows.watermarkNs();
    windows.add(report);
    Repeats repeats = new Repeats(query, report.observedNs());
    for (OpenWindows.ClosedWindow window : windows.close()) {
      WindowRows merged = merges.get(window.processor()).merge(window);
      reportUnseen(merged.endNs() - 1);
      if (repeats.take(merged)) {
        // Requests the window's accounts nevertheless, so that reportUnseen regards it as written.
        accounts.get(merged.processor()).of(merged.startNs(), merged.endNs());
      } else {
        write(merged);
      }
    }
    if (windows.watermarkNs() != previousWatermarkNs) {
      reportUnseen(windows.watermarkNs());
    }
    if (windows.watermarkNs() != previousWatermarkNs || report.watermarkNs() == Long.MAX_VALUE) {
      output.collect(new StreamRecord<>(new Update.Totals(copy(total))));
    }
  }

  private void write(WindowRows window) {
    output.collect(new StreamRecord<>(new WindowUpdate(window, accountsOf(window))));
  }

  /**
   * Reports the windows up to {@code limitNs} without tuples in which tuples may have gone unseen,
   * earliest first.
   */
  private void reportUnseen(long limitNs) {
    WindowRows next;
    do {
      next = null;
      for (ProcessorSpec spec : query.processors()) {
        OptionalLong end = accounts.get(spec.index()).firstUnseenEnd(limitNs);
        if (end.isPresent() && (next == null || end.getAsLong() < next.endNs())) {
          long start = end.getAsLong() - spec.window().sizeNs();
          next = new WindowRows(spec.index(), start, end.getAsLong(), false, List.of(), 0);
        }
      }
      if (next != null) {
        write(next);
      }
    } while (next != null);
  }

  private void take(long timeNs, Accounts part) {
    total.add(part);
    for (ProcessorSpec spec : query.processors()) {
      if (!spec.window().isWholeQuery()) {
        accounts.get(spec.index()).add(timeNs, part);
      }
    }
  }

  private Accounts copy(Accounts countedAccounts) {
    Accounts copy = new Accounts(query.processors().size());
    copy.add(countedAccounts);
    return copy;
  }

  /**
   * Returns the accounts of a window; for a whole-query window, the totals so far. Adds the
   * window's omitted rows to them and to the totals.
   */
  private Accounts accountsOf(WindowRows rows) {
    ProcessorSpec spec = query.processors().get(rows.processor());
    Accounts.OfProcessor totalOfProcessor = total.processor(spec.index());
    if (spec.window().isWholeQuery()) {
      // The snapshot replaces the previous one, whose omitted rows are already in the totals.
      long counted = totalOfProcessor.dropped().get("rows_omitted");
      totalOfProcessor.drop("rows_omitted", rows.omitted() - counted);
      return copy(total);
    }
    totalOfProcessor.drop("rows_omitted", rows.omitted());
    Accounts own = copy(accounts.get(spec.index()).of(rows.startNs(), rows.endNs()));
    own.processor(spec.index()).drop("rows_omitted", rows.omitted());
    return own;
  }

  @Override
  public void snapshotState(StateSnapshotContext context) throws Exception {
    super.snapshotState(context);
    DataOutputSerializer out = new DataOutputSerializer(1024);
    StateFormat.write(out);
    total.write(out);
    for (WindowAccounts window : accounts) {
      window.write(out);
    }
    windows.write(out);
    for (ProcessorMerge merge : merges) {
      merge.write(out);
    }
    state.clear();
    state.add(out.getCopyOfBuffer());
  }

  private void read(DataInputDeserializer in) throws Exception {
    StateFormat.require(in);
    total = Accounts.read(in, query.processors().size());
    for (WindowAccounts window : accounts) {
      window.read(in);
    }
    windows.read(in);
    for (ProcessorMerge merge : merges) {
      merge.read(in);
    }
  }
}
