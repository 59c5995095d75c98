package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.tapline.control.testing.Certificates;
import io.tapline.control.testing.FreePort;
import io.tapline.flink.TlsFiles;
import io.tapline.schema.rpc.MultiLogNodeGrpc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests a real node with TLS and tokens, and clients that it refuses. */
class NodeAccessTest {
  private static final String TOKEN = "first-0123456789abcdef";
  private static final String LATER = "later-0123456789abcdef";

  @TempDir static Path folder;
  private static Certificates authority;
  private static NodeProcess node;

  @BeforeAll
  static void start() throws Exception {
    authority = Certificates.authority(folder, "authority");
    authority.sign("h1", "IP:127.0.0.1");
    Files.writeString(folder.resolve("tokens"), LATER + "\n" + TOKEN + "\n");
    node = launch("h1");
    node.awaitRows(access(LATER));
  }

  @AfterAll
  static void stop() throws Exception {
    node.close();
  }

  private static NodeProcess launch(String name) throws IOException {
    return launch(name, "--token-file", folder.resolve("tokens").toString());
  }

  private static NodeProcess launch(String name, String... more) throws IOException {
    List<String> settings = new ArrayList<>();
    settings.addAll(List.of("--tls-certificate", folder.resolve(name + ".pem").toString()));
    settings.addAll(List.of("--tls-key", folder.resolve(name + ".key").toString()));
    settings.addAll(List.of(more));
    return NodeProcess.launchAt(
        folder,
        new NodeAddress(name, "127.0.0.1:" + FreePort.any()),
        NodeProcess.capture("http_small.pcap.zst"),
        settings.toArray(String[]::new));
  }

  private static NodeAccess access(String token) throws IOException {
    return access(authority, token);
  }

  private static NodeAccess access(Certificates trusted, String token) throws IOException {
    Path file = Files.writeString(Files.createTempFile(folder, "token", ""), token + "\n");
    return NodeAccess.tls(trusted.nobody(), file);
  }

  private static DrillService drill(NodeProcess process, NodeAccess access) {
    return new DrillService(List.of(process.address()), name -> List.of(), access);
  }

  private static DrillRequest all() {
    return new DrillRequest("", 0, 0, 0, List.of());
  }

  /** Returns the reason why access is refused. Verifies that queries fail for the same reason. */
  private static String error(NodeProcess process, NodeAccess access) {
    try (DrillService drill = drill(process, access)) {
      DrillService.NodeState state = drill.states().get(0);
      assertThat(state.description()).isNull();
      assertThatThrownBy(() -> drill.headers(all()))
          .isInstanceOf(DrillException.class)
          .hasMessageContaining(state.error());
      return state.error();
    }
  }

  @Test
  void clientsWithATokenAreAnswered() throws Exception {
    for (String token : List.of(TOKEN, LATER)) {
      try (DrillService drill = drill(node, access(token))) {
        assertThat(drill.headers(all()).rows()).isNotEmpty();
        assertThat(drill.headers(all()).missing()).isEmpty();
        assertThat(drill.watches().add(watch())).isNotEmpty();
      }
    }
  }

  private static WatchSpec watch() throws DrillException {
    return new WatchSpec(
        "",
        DrillAggregate.parse("COUNT", List.of()),
        "COUNT > 0",
        1_000_000_000,
        1_000_000,
        "info",
        List.of());
  }

  @Test
  void clientsWithoutATokenAreRejected() throws Exception {
    assertThat(error(node, access("first-0123456789abcdeF")))
        .isEqualTo("rejects the server: the token is invalid");
    assertThat(error(node, NodeAccess.tls(authority.nobody(), null)))
        .isEqualTo("rejects the server: a token is required");
    clientsWithATokenAreAnswered();
  }

  @Test
  void clientsWithoutTlsAreRejected() {
    assertThat(error(node, NodeAccess.LOCAL)).contains("does it require TLS (--multilog-ca)?");
  }

  @Test
  void doesNotQueryNodesWithoutAValidCertificate() throws Exception {
    Certificates otherAuthority = Certificates.authority(folder, "other");
    assertThat(error(node, access(otherAuthority, TOKEN)))
        .contains("a certificate that is not trusted");
    authority.sign("elsewhere", "IP:127.0.0.2");
    try (NodeProcess elsewhere = launch("elsewhere")) {
      elsewhere.awaitListening();
      assertThat(error(elsewhere, access(TOKEN))).contains("127.0.0.1");
    }
  }

  @Test
  void aNodeWithoutTlsGetsNoToken() throws Exception {
    NodeAddress address = new NodeAddress("plain", "127.0.0.1:" + FreePort.any());
    Path capture = NodeProcess.capture("http_small.pcap.zst");
    try (NodeProcess plainProcess = NodeProcess.launchAt(folder, address, capture)) {
      plainProcess.awaitRows(NodeAccess.LOCAL);
      assertThat(error(plainProcess, access(TOKEN))).contains("failed the TLS handshake");
    }
  }

  /** Tests certificates together with tokens, to show that neither suffices alone. */
  @Test
  void aNodeMayAcceptOnlyTheControlPlanesCertificate() throws Exception {
    Certificates controls = Certificates.authority(folder, "controls");
    controls.sign("control-1", "control", "DNS:control-1");
    controls.sign("by-dns-name", "client", "DNS:control");
    controls.sign("another-role", "front", "DNS:front");
    controls.signExpired("expired", "control", "DNS:control");
    Certificates.authority(folder, "monitors").sign("imposter", "control", "DNS:control");
    authority.sign("strict", "IP:127.0.0.1");
    try (NodeProcess strict =
        launch(
            "strict",
            "--token-file",
            folder.resolve("tokens").toString(),
            "--tls-client-ca",
            controls.file().toString(),
            "--tls-client-name",
            "control")) {
      strict.awaitRows(certified("control-1", TOKEN));
      for (String right : List.of("control-1", "by-dns-name")) {
        try (DrillService drill = drill(strict, certified(right, TOKEN))) {
          assertThat(drill.headers(all()).rows()).as(right).isNotEmpty();
          assertThat(drill.watches().add(watch())).as(right).isNotEmpty();
        }
      }
      for (String stranger : List.of("imposter", "expired")) {
        // The connection ends before a call begins.
        error(strict, certified(stranger, TOKEN));
      }
      error(strict, access(TOKEN));
      assertThat(error(strict, certified("another-role", TOKEN)))
          .isEqualTo(
              "rejects the server: the certificate of 'front' is not accepted; accepted names:"
                  + " control");
      assertThat(error(strict, certified("control-1", "first-0123456789abcdeF")))
          .isEqualTo("rejects the server: the token is invalid");
      everyCallIsRefused(strict);
      assertThat(strict.log()).contains("rejected a call: the certificate of 'front'");
      try (DrillService drill = drill(strict, certified("control-1", TOKEN))) {
        assertThat(drill.headers(all()).rows()).as("after all failures").isNotEmpty();
      }
    }
  }

  private static NodeAccess certified(String name, String token) throws IOException {
    TlsFiles own =
        new TlsFiles(
            authority.file().toString(),
            folder.resolve(name + ".pem").toString(),
            folder.resolve(name + ".key").toString());
    Path file = Files.writeString(Files.createTempFile(folder, "token", ""), token + "\n");
    return NodeAccess.tls(own, file);
  }

  /** Makes every call that the node's service description lists, and expects it to be refused. */
  private static void everyCallIsRefused(NodeProcess node) throws Exception {
    NodeAccess access = certified("another-role", TOKEN);
    ManagedChannel connection =
        Grpc.newChannelBuilder(node.address().target(), access.credentials(node.address())).build();
    try {
      Channel calls = access.calls(node.address(), connection);
      for (MethodDescriptor<?, ?> method : MultiLogNodeGrpc.getServiceDescriptor().getMethods()) {
        assertThat(ended(calls, method).getCode())
            .as(method.getFullMethodName())
            .isEqualTo(Status.Code.PERMISSION_DENIED);
      }
    } finally {
      connection.shutdownNow();
    }
  }

  private static <Q, A> Status ended(Channel calls, MethodDescriptor<Q, A> method)
      throws Exception {
    CompletableFuture<Status> end = new CompletableFuture<>();
    ClientCall<Q, A> call =
        calls.newCall(method, CallOptions.DEFAULT.withDeadlineAfter(30, TimeUnit.SECONDS));
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            end.complete(status);
          }
        },
        new Metadata());
    call.request(1);
    call.halfClose();
    return end.get(60, TimeUnit.SECONDS);
  }

  @Test
  void otherHostsRequireTls() throws Exception {
    List<NodeAddress> far = List.of(new NodeAddress("far", "10.0.0.1:7400"));
    assertThatThrownBy(() -> new DrillService(far))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("--multilog-ca");
    new DrillService(far, name -> List.of(), access(TOKEN)).close();
    for (String local : List.of("127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/run/h1")) {
      assertThat(new NodeAddress("h1", local).isLocal()).as(local).isTrue();
    }
    for (String elsewhere : List.of("1127.0.0.1:1", "localhost.org:1", "127.0.0.1.org:1", "h:1")) {
      assertThat(new NodeAddress("h1", elsewhere).isLocal()).as(elsewhere).isFalse();
    }
  }

  @Test
  void invalidFilesAreReported() throws Exception {
    Path empty = Files.createFile(folder.resolve("empty"));
    Path present = authority.file();
    Path tokens = folder.resolve("tokens");
    Map<Path, Path> wrong =
        Map.of(
            present, empty, folder.resolve("nowhere.pem"), tokens, tokens, tokens, empty, tokens);
    wrong.forEach(
        (certificates, token) ->
            assertThatThrownBy(() -> NodeAccess.tls(TlsFiles.trusting(certificates), token))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(folder.toString()));
  }
}
