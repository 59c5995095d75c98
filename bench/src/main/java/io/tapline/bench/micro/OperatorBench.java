package io.tapline.bench.micro;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.group.GroupTable;
import io.tapline.flink.ingest.Combiner;
import io.tapline.flink.ingest.Rows;
import io.tapline.schema.BatchReader;
import io.tapline.schema.BatchReaderException;
import io.tapline.sim.streams.Batches;
import io.tapline.sim.streams.BenchPlan;
import io.tapline.sim.streams.Traffic;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the time and the allocated bytes per tuple of a top-k query in each step of the stream
 * job, without Flink and Kafka, over one second's pane of Zipf-distributed keys.
 *
 * <pre>
 *   decode    decodes a record into columns, and the query's columns into arrays
 *   combine   decodes a record, and combines its rows in the pane's table
 *   merge     decodes the pane's groups, adds them to a window and subtracts them
 * </pre>
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(OperatorBench.TUPLES)
@Fork(1)
@Warmup(iterations = 8)
@Measurement(iterations = 8)
public class OperatorBench {
  static final int TUPLES = 64 * Batches.ROWS;

  @Param({"10000", "100000", "1000000"})
  private int keys;

  private final List<byte[]> records = new ArrayList<>();
  private ProcessorSpec spec;
  private Combiner combiner;
  private GroupTable window;
  private byte[] sent;
  private int groups;

  /** Creates the pane, and a window that contains it. */
  @Setup
  public void prepare() throws BatchReaderException, IOException {
    Traffic traffic = Traffic.of(Traffic.Kind.TOP_K, 1_000_000_000L, TUPLES, keys, false, 0);
    Batches batches = new Batches(traffic, "bench", "m0");
    batches.write(TUPLES, records::add);
    spec = QuerySpec.of(BenchPlan.of(Traffic.Kind.TOP_K, 1, "bench")).processors().get(0);
    combiner = new Combiner(spec);
    GroupTable pane = combine();
    groups = pane.size();
    DataOutputSerializer out = new DataOutputSerializer(1 << 20);
    for (int entry = 0; entry < groups; entry++) {
      pane.writeEntry(out, entry);
    }
    sent = out.getCopyOfBuffer();
    window = spec.table();
    window.add(pane);
  }

  @Benchmark
  public int decode() throws BatchReaderException {
    int rows = 0;
    for (byte[] record : records) {
      Rows batch = new Rows(BatchReader.read(record));
      combiner.require(batch);
      rows += batch.count();
    }
    return rows;
  }

  @Benchmark
  public GroupTable combine() throws BatchReaderException {
    combiner.clear();
    for (byte[] record : records) {
      Rows batch = new Rows(BatchReader.read(record));
      combiner.require(batch);
      combiner.add(batch);
    }
    return combiner.panes().values().iterator().next();
  }

  @Benchmark
  public GroupTable merge() throws IOException {
    GroupTable pane = spec.table();
    DataInputDeserializer in = new DataInputDeserializer(sent);
    for (int i = 0; i < groups; i++) {
      pane.readEntry(in, true);
    }
    window.subtract(pane, window.add(pane));
    return pane;
  }
}
