package io.tapline.control.drill;

import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import io.tapline.schema.rpc.AggregateReply;
import io.tapline.schema.rpc.AggregateRequest;
import io.tapline.schema.rpc.AttachRequest;
import io.tapline.schema.rpc.DefineReply;
import io.tapline.schema.rpc.Definition;
import io.tapline.schema.rpc.DescribeRequest;
import io.tapline.schema.rpc.FreezeReply;
import io.tapline.schema.rpc.FreezeRequest;
import io.tapline.schema.rpc.MultiLogNodeGrpc;
import io.tapline.schema.rpc.NodeDescription;
import io.tapline.schema.rpc.NodeEvent;
import io.tapline.schema.rpc.PcapngPiece;
import io.tapline.schema.rpc.QueryRequest;
import io.tapline.schema.rpc.RemoveReply;
import io.tapline.schema.rpc.RemoveRequest;
import io.tapline.schema.rpc.RowBatch;
import io.tapline.schema.rpc.UnfreezeReply;
import io.tapline.schema.rpc.UnfreezeRequest;
import java.time.Duration;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;

/**
 * One node, over one connection that is kept open and found again when it was lost. Any thread may
 * call.
 */
final class NodeClient implements AutoCloseable {
  /** A piece of an answer is 64 KiB; nothing that a node sends is near this. */
  private static final int MOST_MESSAGE_BYTES = 4 << 20;

  private final NodeAddress address;
  private final ManagedChannel channel;

  NodeClient(NodeAddress address) {
    this.address = address;
    this.channel =
        Grpc.newChannelBuilder(address.target(), InsecureChannelCredentials.create())
            .maxInboundMessageSize(MOST_MESSAGE_BYTES)
            .build();
  }

  String name() {
    return address.name();
  }

  NodeAddress address() {
    return address;
  }

  ListenableFuture<NodeDescription> describe(Duration patience) {
    return later(patience).describe(DescribeRequest.getDefaultInstance());
  }

  ListenableFuture<FreezeReply> freeze(Duration expiry, Duration patience) {
    return later(patience).freeze(FreezeRequest.newBuilder().setExpiryNs(expiry.toNanos()).build());
  }

  ListenableFuture<UnfreezeReply> unfreeze(long id, Duration patience) {
    return later(patience).unfreeze(UnfreezeRequest.newBuilder().setId(id).build());
  }

  ListenableFuture<AggregateReply> aggregate(AggregateRequest request, Duration patience) {
    return later(patience).aggregate(request);
  }

  ListenableFuture<DefineReply> define(Definition definition, Duration patience) {
    return later(patience).define(definition);
  }

  ListenableFuture<RemoveReply> remove(RemoveRequest request, Duration patience) {
    return later(patience).remove(request);
  }

  /** Its description, then alerts and heartbeats, until the node or this ends. */
  void attach(int heartbeatMs, StreamObserver<NodeEvent> observer) {
    MultiLogNodeGrpc.newStub(channel)
        .attach(AttachRequest.newBuilder().setHeartbeatMs(heartbeatMs).build(), observer);
  }

  /** The batches as they come; a slow reader slows the node down, and holds little of it here. */
  Iterator<RowBatch> query(QueryRequest request, Duration patience) {
    return now(patience).query(request);
  }

  Iterator<PcapngPiece> pcapng(QueryRequest request, Duration patience) {
    return now(patience).pcapng(request);
  }

  private MultiLogNodeGrpc.MultiLogNodeFutureStub later(Duration patience) {
    return MultiLogNodeGrpc.newFutureStub(channel)
        .withDeadlineAfter(patience.toNanos(), TimeUnit.NANOSECONDS);
  }

  private MultiLogNodeGrpc.MultiLogNodeBlockingStub now(Duration patience) {
    return MultiLogNodeGrpc.newBlockingStub(channel)
        .withDeadlineAfter(patience.toNanos(), TimeUnit.NANOSECONDS);
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }
}
