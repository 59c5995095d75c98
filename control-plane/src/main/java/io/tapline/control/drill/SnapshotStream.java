package io.tapline.control.drill;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.MoreExecutors;
import com.google.common.util.concurrent.SettableFuture;
import io.grpc.Channel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.tapline.schema.rpc.MultiLogNodeGrpc;
import io.tapline.schema.rpc.SnapshotAnswer;
import io.tapline.schema.rpc.SnapshotCommand;
import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Sends freeze and unfreeze commands over one long-lived stream, where a command costs much less
 * than a separate call. After a stream breaks or a response times out, the next command opens a new
 * stream. When a stream ends, the node unfreezes itself if the stream had frozen it.
 *
 * <p>Any thread may send; responses arrive in the order of the commands, on the connection's
 * thread.
 */
final class SnapshotStream implements AutoCloseable {
  private final MultiLogNodeGrpc.MultiLogNodeStub stub;
  private OpenStream open;

  SnapshotStream(Channel channel) {
    stub = MultiLogNodeGrpc.newStub(channel).withExecutor(MoreExecutors.directExecutor());
  }

  /**
   * Returns the future response; it fails with a {@code StatusRuntimeException} if there is none.
   */
  synchronized ListenableFuture<SnapshotAnswer> send(SnapshotCommand command) {
    OpenStream stream = open;
    if (stream == null) {
      stream = new OpenStream();
      open = stream;
      // The stream may end immediately, on this thread.
      stream.commands = stub.snapshots(stream);
    }
    return stream.send(command);
  }

  /** Cancels the stream; pending commands fail. The next command opens a new stream. */
  @Override
  public synchronized void close() {
    if (open != null) {
      open.commands.onError(Status.CANCELLED.asRuntimeException());
      open = null;
    }
  }

  private synchronized void ended(OpenStream which) {
    if (open == which) {
      open = null;
    }
  }

  private final class OpenStream implements StreamObserver<SnapshotAnswer> {
    private final Queue<SettableFuture<SnapshotAnswer>> waiting = new ArrayDeque<>();
    private StreamObserver<SnapshotCommand> commands;
    private Throwable end;

    ListenableFuture<SnapshotAnswer> send(SnapshotCommand command) {
      SettableFuture<SnapshotAnswer> response = SettableFuture.create();
      synchronized (this) {
        if (end != null) {
          response.setException(end);
          return response;
        }
        waiting.add(response);
      }
      commands.onNext(command);
      return response;
    }

    @Override
    public void onNext(SnapshotAnswer response) {
      SettableFuture<SnapshotAnswer> next;
      synchronized (this) {
        next = waiting.poll();
      }
      if (next == null) {
        onError(
            Status.INTERNAL.withDescription("a response without a request").asRuntimeException());
        return;
      }
      next.set(response);
    }

    @Override
    public void onError(Throwable error) {
      ended(this);
      Queue<SettableFuture<SnapshotAnswer>> left;
      synchronized (this) {
        end = error;
        left = new ArrayDeque<>(waiting);
        waiting.clear();
      }
      left.forEach(response -> response.setException(error));
    }

    @Override
    public void onCompleted() {
      onError(Status.UNAVAILABLE.withDescription("the node is shutting down").asRuntimeException());
    }
  }
}
