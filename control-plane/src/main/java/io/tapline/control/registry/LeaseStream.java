package io.tapline.control.registry;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.tapline.schema.rpc.AgentCommand;

/** The sending side of one agent's stream. Confined to the registry's thread. */
final class LeaseStream {
  /** Maximum number of commands that wait for an agent that does not read. */
  private static final int MAX_UNREAD = 10_000;

  private final ServerCallStreamObserver<AgentCommand> out;
  private int unread;
  private boolean ended;

  LeaseStream(ServerCallStreamObserver<AgentCommand> out) {
    this.out = out;
  }

  void send(AgentCommand command) {
    if (ended || out.isCancelled()) {
      return;
    }
    unread = out.isReady() ? 0 : unread + 1;
    if (unread > MAX_UNREAD) {
      fail(Status.RESOURCE_EXHAUSTED.withDescription("the agent does not read its commands"));
    } else {
      out.onNext(command);
    }
  }

  void fail(Status reason) {
    if (!ended && !out.isCancelled()) {
      out.onError(reason.asRuntimeException());
    }
    ended = true;
  }

  void complete() {
    if (!ended && !out.isCancelled()) {
      out.onCompleted();
    }
    ended = true;
  }
}
