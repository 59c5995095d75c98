package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.schema.rpc.AggregateFunction;
import io.tapline.schema.rpc.AggregateReply;
import io.tapline.schema.rpc.AggregateRequest;
import io.tapline.schema.rpc.QueryRequest;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;

/**
 * A real node whose packets the test writes to a named pipe. While more packets may arrive, which
 * is always the case with a pipe, a node holds rows back until their batch is full. So the test
 * sends whole batches.
 */
final class FedNode implements AutoCloseable {
  /** The node's batch size in rows (row_ring.h). */
  static final int BATCH = 256;

  private static final int PACKET_BYTES = 40;

  private static final AggregateRequest COUNT =
      AggregateRequest.newBuilder()
          .setFunction(AggregateFunction.newBuilder().setFunction("COUNT"))
          .setQuery(QueryRequest.getDefaultInstance())
          .build();

  private final NodeProcess process;
  private final OutputStream pipe;

  /** The test's own client; the coordinator has another one. */
  private final NodeClient client;

  private long sent;

  FedNode(Path folder, String name) throws Exception {
    Path path = folder.resolve(name + ".pipe");
    assertThat(new ProcessBuilder("mkfifo", path.toString()).start().waitFor()).isZero();
    process = NodeProcess.launch(folder, name, path);
    pipe = new FileOutputStream(path.toFile());
    pipe.write(fileHeader());
    client = new NodeClient(process.address(), NodeAccess.LOCAL);
  }

  NodeAddress address() {
    return process.address();
  }

  NodeClient client() {
    return client;
  }

  /** Returns the header of a pcap file with nanosecond timestamps and raw IP packets. */
  private static byte[] fileHeader() {
    return ByteBuffer.allocate(24)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(0xa1b23c4d)
        .putShort((short) 2)
        .putShort((short) 4)
        .putLong(0)
        .putInt(65535)
        .putInt(101)
        .array();
  }

  /** Sends a batch of packets, which the node appends. */
  void append() throws Exception {
    ByteBuffer packets = ByteBuffer.allocate(BATCH * (16 + PACKET_BYTES));
    for (int i = 0; i < BATCH; i++) {
      sent++;
      packets.order(ByteOrder.LITTLE_ENDIAN).putInt(1_700_000_000).putInt((int) sent);
      packets.putInt(PACKET_BYTES).putInt(PACKET_BYTES).order(ByteOrder.BIG_ENDIAN);
      packets.putInt(0x45000000 | PACKET_BYTES).putInt(0).putInt(0x40060000);
      packets.putInt(0x0a000001).putInt(0x0a000002).putInt(40_000 << 16 | 80);
      packets.putInt((int) sent).putInt(0).putInt(0x50100000).putInt(0);
    }
    pipe.write(packets.array());
  }

  /**
   * Returns true if readers see everything that was appended, which is never the case while the
   * node is frozen.
   */
  boolean showsAll() throws Exception {
    AggregateReply reply = Snapshots.result(client.aggregate(COUNT, Duration.ofSeconds(30)));
    return reply.getValues(0).getWhole() == sent;
  }

  @Override
  public void close() throws Exception {
    client.close();
    pipe.close();
    process.close();
  }
}
