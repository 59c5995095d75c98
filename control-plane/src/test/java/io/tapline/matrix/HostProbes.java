package io.tapline.matrix;

import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptors;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import io.tapline.schema.rpc.AgentCommand;
import io.tapline.schema.rpc.AgentHello;
import io.tapline.schema.rpc.AgentMessage;
import io.tapline.schema.rpc.Definition;
import io.tapline.schema.rpc.DescribeRequest;
import io.tapline.schema.rpc.MultiLogNodeGrpc;
import io.tapline.schema.rpc.RegistryGrpc;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/** Probes over gRPC: the control plane's port for agents, and a MultiLog node's port. */
final class HostProbes {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final Set<Status.Code> REFUSALS =
      Set.of(Status.Code.PERMISSION_DENIED, Status.Code.UNAUTHENTICATED, Status.Code.UNAVAILABLE);
  private static final int TIMEOUT_S = 30;

  private final Cluster cluster;

  HostProbes(Cluster cluster) {
    this.cluster = cluster;
  }

  /** Tries an operation of the table with each token that the client has, until one is accepted. */
  void run(String operation, Component client, int port) throws Exception {
    Refused last = null;
    List<String> tokens = new ArrayList<>(client.tokens());
    tokens.add("");
    for (String token : tokens) {
      try {
        run(operation, client, port, token);
        return;
      } catch (Refused e) {
        last = e;
      }
    }
    throw last;
  }

  private void run(String operation, Component client, int port, String token) throws Exception {
    String host = operation.startsWith("lease") ? cluster.leader() : cluster.multilog();
    ManagedChannel connection =
        Grpc.newChannelBuilderForAddress(host, port, credentials(client)).build();
    try {
      Channel channel = withToken(connection, token);
      switch (operation) {
        case "lease-own-host" -> lease(channel, cluster.monitor());
        case "lease-other-host" -> lease(channel, "matrix-host");
        case "query" -> describe(channel);
        case "add-filter" -> define(channel);
        default -> throw new IllegalArgumentException("no probe for " + operation);
      }
    } catch (StatusRuntimeException e) {
      refuseOr(e);
    } finally {
      connection.shutdownNow();
    }
  }

  private static ChannelCredentials credentials(Component client) throws Exception {
    TlsChannelCredentials.Builder credentials =
        TlsChannelCredentials.newBuilder().trustManager(client.authorities().toFile());
    if (!client.tls().certificate().isEmpty()) {
      credentials.keyManager(new File(client.tls().certificate()), new File(client.tls().key()));
    }
    return credentials.build();
  }

  private static Channel withToken(Channel channel, String token) {
    if (token.isEmpty()) {
      return channel;
    }
    Metadata headers = new Metadata();
    headers.put(AUTHORIZATION, "Bearer " + token);
    return ClientInterceptors.intercept(
        channel, MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  private static void refuseOr(StatusRuntimeException e) throws Refused {
    if (REFUSALS.contains(e.getStatus().getCode())) {
      throw new Refused(e.getMessage());
    }
    throw e;
  }

  private static void describe(Channel channel) {
    MultiLogNodeGrpc.newBlockingStub(channel)
        .withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS)
        .describe(DescribeRequest.getDefaultInstance());
  }

  /**
   * Sends an empty definition. Every node rejects it, but with a different error if the caller has
   * no right to define anything.
   */
  private static void define(Channel channel) throws Refused {
    try {
      MultiLogNodeGrpc.newBlockingStub(channel)
          .withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS)
          .define(Definition.getDefaultInstance());
    } catch (StatusRuntimeException e) {
      if (e.getStatus().getCode() != Status.Code.INVALID_ARGUMENT) {
        refuseOr(e);
      }
    }
  }

  /**
   * Requests the lease for an agent's name. If the host's agent already holds it, a client that may
   * use the name gets ALREADY_EXISTS.
   */
  private static void lease(Channel channel, String agent) throws Exception {
    CompletableFuture<Void> response = new CompletableFuture<>();
    StreamObserver<AgentMessage> messages =
        RegistryGrpc.newStub(channel)
            .lease(
                new StreamObserver<>() {
                  @Override
                  public void onNext(AgentCommand command) {
                    response.complete(null);
                  }

                  @Override
                  public void onError(Throwable e) {
                    response.completeExceptionally(e);
                  }

                  @Override
                  public void onCompleted() {
                    response.completeExceptionally(
                        Status.UNAVAILABLE
                            .withDescription("the stream ended")
                            .asRuntimeException());
                  }
                });
    messages.onNext(
        AgentMessage.newBuilder()
            .setHello(AgentHello.newBuilder().setAgent(agent).setIncarnation(1))
            .build());
    try {
      response.get(TIMEOUT_S, TimeUnit.SECONDS);
      messages.onCompleted();
    } catch (ExecutionException e) {
      if (!(e.getCause() instanceof StatusRuntimeException status)) {
        throw e;
      }
      if (status.getStatus().getCode() != Status.Code.ALREADY_EXISTS) {
        refuseOr(status);
      }
    }
  }
}
