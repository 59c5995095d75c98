package io.tapline.flink.support;

import io.tapline.schema.BatchWriter;
import io.tapline.schema.BatchWriter.ColumnSpec;
import io.tapline.schema.proto.Accounting;
import io.tapline.schema.proto.Column.Type;
import io.tapline.schema.proto.Dropped;
import io.tapline.schema.proto.TupleBatch;
import java.util.ArrayList;
import java.util.List;

/** Builds the batches that a monitor's lane sends. */
public final class MonitorStream {
  private static final List<ColumnSpec> COMMON =
      List.of(
          new ColumnSpec("time_ns", Type.I64, "ns"),
          new ColumnSpec("flow_hash", Type.U64, ""),
          new ColumnSpec("flow_incarnation", Type.U64, ""),
          new ColumnSpec("client_known_by", Type.STRING, ""),
          new ColumnSpec("src_ip", Type.ADDRESS, ""),
          new ColumnSpec("src_port", Type.U64, ""),
          new ColumnSpec("dst_ip", Type.ADDRESS, ""),
          new ColumnSpec("dst_port", Type.U64, ""));

  private final String query;
  private final String monitor;
  private final int lane;
  private final double rate;
  private long sequence;
  private int epoch = 1;
  private long incarnation = 1;
  private long watchedSinceNs;

  public MonitorStream(String query, String monitor, int lane, double rate) {
    this.query = query;
    this.monitor = monitor;
    this.lane = lane;
    this.rate = rate;
  }

  public MonitorStream epoch(int newEpoch) {
    epoch = newEpoch;
    return this;
  }

  /**
   * Sets the time since which the monitor sees everything that the query needs; {@link
   * Long#MAX_VALUE} if it does not yet.
   */
  public MonitorStream watchedSince(long timeNs) {
    watchedSinceNs = timeNs;
    return this;
  }

  /** Starts a new incarnation of the monitor's process. */
  public MonitorStream restart() {
    incarnation++;
    sequence = 0;
    return this;
  }

  /** Skips a sequence number, as if a batch had been lost. */
  public void lose() {
    sequence++;
  }

  /**
   * Returns a batch of one parser. For each tuple, it reports ten packets and one dropped packet.
   */
  public TupleBatch batch(long watermarkNs, List<Tuple> tuples) {
    String parser = tuples.isEmpty() ? "http_get" : tuples.get(0).parser();
    BatchWriter writer = new BatchWriter(columns(parser, tuples));
    for (Tuple tuple : tuples) {
      writer.row(row(tuple));
    }
    Accounting.Builder accounting =
        Accounting.newBuilder()
            .setPacketsIn(11L * tuples.size())
            .setPacketsOut(10L * tuples.size())
            .setBytesIn(100L * tuples.size())
            .setTuplesIn(tuples.size());
    if (!tuples.isEmpty()) {
      accounting.addDropped(Dropped.newBuilder().setReason("nic_missed").setCount(tuples.size()));
    }
    return writer.write(header(parser, watermarkNs).setAccounting(accounting));
  }

  public TupleBatch end(long watermarkNs) {
    return header("http_get", watermarkNs).setEndOfStream(true).build();
  }

  private TupleBatch.Builder header(String parser, long watermarkNs) {
    return TupleBatch.newBuilder()
        .setFormat(1)
        .setQuery(query)
        .setParser(parser)
        .setMonitor(monitor)
        .setIncarnation(incarnation)
        .setEpoch(epoch)
        .setLane(lane)
        .setSequence(sequence++)
        .setWatermarkNs(watermarkNs)
        .setWatchedSinceNs(watchedSinceNs)
        .setSamplingRate(rate);
  }

  private static List<ColumnSpec> columns(String parser, List<Tuple> tuples) {
    List<ColumnSpec> columns = new ArrayList<>(COMMON);
    if (parser.equals("http_get")) {
      columns.add(new ColumnSpec("url", Type.STRING, ""));
      columns.add(new ColumnSpec("response_time_ns", Type.I64, "ns"));
      if (!tuples.isEmpty() && tuples.get(0).fields().containsKey("partial")) {
        columns.add(new ColumnSpec("partial", Type.STRING, ""));
        columns.add(new ColumnSpec("unanswered", Type.BOOL, ""));
      }
    } else {
      columns.add(new ColumnSpec("event", Type.STRING, ""));
      columns.add(new ColumnSpec("certain_after_ns", Type.I64, "ns"));
    }
    return columns;
  }

  private static Object[] row(Tuple tuple) {
    List<Object> row = new ArrayList<>();
    row.add(tuple.timeNs());
    row.add(tuple.flow());
    row.add(7L);
    row.add("handshake");
    row.add(new byte[] {10, 0, 0, 1});
    row.add((long) tuple.sourcePort());
    row.add(new byte[] {10, 0, 1, (byte) (tuple.flow() % 3)});
    row.add(80L);
    row.addAll(tuple.fields().values());
    return row.toArray();
  }
}
