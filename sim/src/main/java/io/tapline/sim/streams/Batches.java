package io.tapline.sim.streams;

import io.tapline.schema.BatchWriter;
import io.tapline.schema.BatchWriter.ColumnSpec;
import io.tapline.schema.proto.Accounting;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.Column.Type;
import io.tapline.schema.proto.TupleBatch;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Encodes {@link Traffic} in a monitor's format, as batches of each parser in turn. Builds batches
 * only once; a repetition changes only their headers and the bases of two columns. Not thread-safe.
 */
public final class Batches {
  /** Maximum number of tuples in a monitor's batch. */
  public static final int ROWS = 4096;

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

  private static final int TIME = 0;
  private static final int FLOW = 1;
  private static final byte[] SERVER = {10, 0, 1, 1};

  private final Traffic traffic;
  private final List<TupleBatch> first = new ArrayList<>();
  private int repetition;
  private int next;
  private long sequence;

  /** Encodes one repetition. */
  public Batches(Traffic traffic, String query, String monitor) {
    this.traffic = traffic;
    for (int first = 0; first < traffic.count; first += ROWS) {
      int end = Math.min(traffic.count, first + ROWS);
      long promised = traffic.timeNs(first, 0);
      add(first, end, promised, "tcp_conn_time", query, monitor);
      add(first, end, promised, "http_get", query, monitor);
    }
  }

  private void add(
      int firstRow, int endRow, long markNs, String parser, String query, String monitor) {
    boolean http = parser.equals("http_get");
    BatchWriter writer = new BatchWriter(columns(http));
    for (int tuple = firstRow; tuple < endRow; tuple++) {
      if ((traffic.type[tuple] == Traffic.GET) == http) {
        writer.row(row(tuple, http));
      }
    }
    if (writer.rows() > 0) {
      TupleBatch.Builder header =
          header(query, monitor, markNs)
              .setParser(parser)
              .setAccounting(Accounting.newBuilder().setTuplesIn(writer.rows()));
      first.add(writer.write(header));
    }
  }

  private static TupleBatch.Builder header(String query, String monitor, long markNs) {
    return TupleBatch.newBuilder()
        .setFormat(1)
        .setQuery(query)
        .setMonitor(monitor)
        .setIncarnation(1)
        .setEpoch(1)
        .setWatermarkNs(markNs)
        .setSamplingRate(1);
  }

  private static List<ColumnSpec> columns(boolean http) {
    List<ColumnSpec> columns = new ArrayList<>(COMMON);
    columns.add(new ColumnSpec(http ? "url" : "event", Type.STRING, ""));
    columns.add(new ColumnSpec(http ? "response_time_ns" : "certain_after_ns", Type.I64, "ns"));
    return columns;
  }

  private Object[] row(int tuple, boolean http) {
    return new Object[] {
      traffic.timeNs(tuple, 0),
      traffic.flowHash(tuple, 0),
      7L,
      "handshake",
      traffic.client(tuple),
      traffic.port(tuple),
      SERVER,
      80L,
      http ? traffic.url(tuple) : traffic.event(tuple),
      0L
    };
  }

  /** Returns the number of tuples in the batch that {@link #next} will return. */
  int nextRows() {
    return first.get(next).getRows();
  }

  /** Returns the next encoded batch of the endless stream. */
  byte[] next() {
    TupleBatch batch = first.get(next);
    long shiftNs = repetition * traffic.spanNs;
    Column time = batch.getColumns(TIME);
    Column flow = batch.getColumns(FLOW);
    byte[] encoded =
        batch.toBuilder()
            .setSequence(sequence++)
            .setWatermarkNs(batch.getWatermarkNs() + shiftNs)
            .setColumns(TIME, time.toBuilder().setBase(time.getBase() + shiftNs))
            .setColumns(
                FLOW, flow.toBuilder().setBase(flow.getBase() + traffic.flowShift(repetition)))
            .build()
            .toByteArray();
    if (++next == first.size()) {
      next = 0;
      repetition++;
    }
    return encoded;
  }

  /** Writes batches with at least this many tuples in total; returns their number of tuples. */
  public long write(long tuples, Consumer<byte[]> consumer) {
    long written = 0;
    while (written < tuples) {
      written += nextRows();
      consumer.accept(next());
    }
    return written;
  }

  /** Returns the batch that ends the stream. */
  byte[] end() {
    TupleBatch batch = first.get(next);
    return header(batch.getQuery(), batch.getMonitor(), batch.getWatermarkNs())
        .setWatermarkNs(batch.getWatermarkNs() + repetition * traffic.spanNs)
        .setSequence(sequence++)
        .setEndOfStream(true)
        .build()
        .toByteArray();
  }
}
