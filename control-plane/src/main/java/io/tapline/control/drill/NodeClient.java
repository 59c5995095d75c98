package io.tapline.control.drill;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.MoreExecutors;
import com.google.common.util.concurrent.SettableFuture;
import io.grpc.Channel;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import io.tapline.schema.rpc.AggregateReply;
import io.tapline.schema.rpc.AggregateRequest;
import io.tapline.schema.rpc.AttachRequest;
import io.tapline.schema.rpc.DefineReply;
import io.tapline.schema.rpc.Definition;
import io.tapline.schema.rpc.DescribeRequest;
import io.tapline.schema.rpc.EndpointsReply;
import io.tapline.schema.rpc.EndpointsRequest;
import io.tapline.schema.rpc.FreezeRequest;
import io.tapline.schema.rpc.MultiLogNodeGrpc;
import io.tapline.schema.rpc.NodeDescription;
import io.tapline.schema.rpc.NodeEvent;
import io.tapline.schema.rpc.PcapngPiece;
import io.tapline.schema.rpc.QueryRequest;
import io.tapline.schema.rpc.RemoveReply;
import io.tapline.schema.rpc.RemoveRequest;
import io.tapline.schema.rpc.RowBatch;
import io.tapline.schema.rpc.SnapshotAnswer;
import io.tapline.schema.rpc.SnapshotCommand;
import io.tapline.schema.rpc.UnfreezeRequest;
import java.time.Duration;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Client of one node, over one connection that is kept open and reopened after a failure.
 * Thread-safe.
 */
final class NodeClient implements AutoCloseable {
  /** Maximum message size, far above the 64 KiB chunks in which nodes respond. */
  private static final int MAX_MESSAGE_BYTES = 4 << 20;

  private final NodeAddress address;
  private final ManagedChannel connection;

  /** The connection, which adds the node's token to each call. */
  private final Channel channel;

  private final SnapshotStream snapshots;
  private volatile String lost = "";

  NodeClient(NodeAddress address, NodeAccess access) {
    this(
        address,
        access,
        Grpc.newChannelBuilder(address.target(), access.credentials(address))
            .maxInboundMessageSize(MAX_MESSAGE_BYTES)
            .build());
  }

  /** Creates a client over a connection that the caller opened; the client closes it. */
  NodeClient(NodeAddress address, NodeAccess access, ManagedChannel connection) {
    this.address = address;
    this.connection = connection;
    this.channel = access.calls(address, connection);
    this.snapshots = new SnapshotStream(channel);
  }

  /** Marks the node as dead; it is no longer queried. */
  void lose(String reason) {
    lost = reason;
    close();
  }

  boolean isLost() {
    return !lost.isEmpty();
  }

  /** Returns the reason why the node is considered dead; empty if it is alive. */
  String lost() {
    return lost;
  }

  String name() {
    return address.name();
  }

  NodeAddress address() {
    return address;
  }

  ListenableFuture<NodeDescription> describe(Duration timeout) {
    return later(timeout).describe(DescribeRequest.getDefaultInstance());
  }

  ListenableFuture<SnapshotAnswer> freeze(Duration expiry) {
    FreezeRequest freeze = FreezeRequest.newBuilder().setExpiryNs(expiry.toNanos()).build();
    return snapshots.send(SnapshotCommand.newBuilder().setFreeze(freeze).build());
  }

  ListenableFuture<SnapshotAnswer> unfreeze(long id) {
    UnfreezeRequest unfreeze = UnfreezeRequest.newBuilder().setId(id).build();
    return snapshots.send(SnapshotCommand.newBuilder().setUnfreeze(unfreeze).build());
  }

  /** Cancels the stream of snapshot commands, as after a timeout; pending commands fail. */
  void abandonSnapshot() {
    snapshots.close();
  }

  ListenableFuture<EndpointsReply> endpoints(HeaderFilter filter, Duration timeout) {
    EndpointsRequest.Builder request =
        EndpointsRequest.newBuilder().setExpression(filter.expression());
    filter.condition().ifPresent(request::setCondition);
    if (!filter.scope().isEverything()) {
      request.setScope(filter.scope().ofHeaders());
    }
    return later(timeout).endpoints(request.build());
  }

  ListenableFuture<AggregateReply> aggregate(AggregateRequest request, Duration timeout) {
    return later(timeout).aggregate(request);
  }

  ListenableFuture<DefineReply> define(Definition definition, Duration timeout) {
    return later(timeout).define(definition);
  }

  ListenableFuture<RemoveReply> remove(RemoveRequest request, Duration timeout) {
    return later(timeout).remove(request);
  }

  /**
   * Receives the node's description, then alerts and heartbeats, until the connection or the node
   * fails or this client is closed.
   */
  void attach(AttachRequest request, StreamObserver<NodeEvent> observer) {
    MultiLogNodeGrpc.newStub(channel).attach(request, observer);
  }

  /**
   * Runs a query. Passes batches to {@code taker} as they arrive, on the connection's thread; a
   * slow consumer causes backpressure on the node. An exception from the consumer ends the query.
   */
  ListenableFuture<Void> query(QueryRequest request, Duration timeout, Consumer<RowBatch> taker) {
    SettableFuture<Void> done = SettableFuture.create();
    MultiLogNodeGrpc.newStub(channel)
        .withExecutor(MoreExecutors.directExecutor())
        .withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS)
        .query(
            request,
            new StreamObserver<RowBatch>() {
              @Override
              public void onNext(RowBatch batch) {
                taker.accept(batch);
              }

              @Override
              public void onError(Throwable error) {
                done.setException(error);
              }

              @Override
              public void onCompleted() {
                done.set(null);
              }
            });
    return done;
  }

  Iterator<PcapngPiece> pcapng(QueryRequest request, Duration timeout) {
    return now(timeout).pcapng(request);
  }

  private MultiLogNodeGrpc.MultiLogNodeFutureStub later(Duration timeout) {
    return MultiLogNodeGrpc.newFutureStub(channel)
        .withExecutor(MoreExecutors.directExecutor())
        .withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
  }

  private MultiLogNodeGrpc.MultiLogNodeBlockingStub now(Duration timeout) {
    return MultiLogNodeGrpc.newBlockingStub(channel)
        .withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
  }

  @Override
  public void close() {
    connection.shutdownNow();
  }
}
