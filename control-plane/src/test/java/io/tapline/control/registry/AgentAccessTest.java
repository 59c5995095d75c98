package io.tapline.control.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import io.tapline.control.testing.AuditLines;
import io.tapline.control.testing.Await;
import io.tapline.control.testing.Certificates;
import io.tapline.flink.TlsFiles;
import io.tapline.schema.rpc.AgentCommand;
import io.tapline.schema.rpc.AgentHello;
import io.tapline.schema.rpc.AgentMessage;
import io.tapline.schema.rpc.RegistryGrpc;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the agents' port with a required token and a required certificate that names the host. */
class AgentAccessTest {
  private static final Path PROGRAMS =
      Path.of(System.getProperty("tapline.root", "..")).resolve("build/bin");
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final String TOKEN = "first-0123456789abcdef";
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  @TempDir static Path folder;
  private static final List<String> LEASED = new CopyOnWriteArrayList<>();
  private static Certificates controls;
  private static AgentRegistry registry;

  @BeforeAll
  static void start() throws Exception {
    controls = Certificates.authority(folder, "controls");
    controls.sign("server", "control", "IP:127.0.0.1");
    controls.sign("h1-of-another-role", "h1", "DNS:h1");
    Certificates monitors = Certificates.authority(folder, "monitors");
    monitors.sign("h1", "DNS:elsewhere");
    monitors.sign("h2", "DNS:h2");
    monitors.sign("pair", "a pair", "DNS:h3,DNS:h4,IP:127.0.0.1");
    monitors.signExpired("h5-expired", "h5", "DNS:h5");
    Path tokens = Files.writeString(folder.resolve("token"), TOKEN + "\n");
    TlsFiles server =
        new TlsFiles(monitors.file().toString(), file("server.pem"), file("server.key"));
    registry =
        AgentRegistry.of(
            RegistryOptions.usual(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), "broker:9092"),
            AgentAccess.tls(server, tokens),
            new LeaseListener() {
              @Override
              public void up(String agent, String multilog) {
                LEASED.add(agent);
              }

              @Override
              public void lost(String agent) {}

              @Override
              public void forgotten(String agent) {}
            });
    registry.open();
  }

  @AfterAll
  static void stop() {
    registry.close();
  }

  @BeforeEach
  void forget() {
    LEASED.clear();
  }

  private static String file(String name) {
    return folder.resolve(name).toString();
  }

  /** Requests an agent's lease and returns the resulting status: OK if the lease is granted. */
  private static Status lease(String certificate, String token, String agent) throws Exception {
    TlsChannelCredentials.Builder credentials =
        TlsChannelCredentials.newBuilder().trustManager(controls.file().toFile());
    if (!certificate.isEmpty()) {
      credentials.keyManager(
          new File(file(certificate + ".pem")), new File(file(certificate + ".key")));
    }
    ManagedChannel channel =
        Grpc.newChannelBuilder("127.0.0.1:" + registry.port(), credentials.build()).build();
    CompletableFuture<Status> response = new CompletableFuture<>();
    Metadata headers = new Metadata();
    headers.put(AUTHORIZATION, "Bearer " + token);
    try {
      RegistryGrpc.newStub(channel)
          .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
          .lease(
              new StreamObserver<>() {
                @Override
                public void onNext(AgentCommand command) {
                  response.complete(Status.OK);
                }

                @Override
                public void onError(Throwable error) {
                  response.complete(Status.fromThrowable(error));
                }

                @Override
                public void onCompleted() {}
              })
          .onNext(
              AgentMessage.newBuilder()
                  .setHello(AgentHello.newBuilder().setAgent(agent).setIncarnation(1))
                  .build());
      return response.get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void aCertificateIsValidForTheHostsThatItNames() throws Exception {
    assertThat(lease("h1", TOKEN, "h1").isOk()).as("by its common name").isTrue();
    assertThat(lease("pair", TOKEN, "h3").isOk()).as("by a DNS name").isTrue();
    assertThat(lease("pair", TOKEN, "h4").isOk()).as("by another DNS name").isTrue();
    // The listener is notified after the agent.
    Await.until("all have a lease", TIMEOUT, () -> LEASED.size() == 3);
    assertThat(LEASED).containsExactly("h1", "h3", "h4");
  }

  @Test
  void aCertificateOfAnotherHostIsRejectedAndAuditedOnce() throws Exception {
    try (AuditLines audit = new AuditLines()) {
      for (int i = 0; i < 3; i++) {
        Status refusedStatus = lease("h2", TOKEN, "h1");
        assertThat(refusedStatus.getCode()).isEqualTo(Code.PERMISSION_DENIED);
        assertThat(refusedStatus.getDescription())
            .isEqualTo("the certificate of CN=h2 is not valid for the lease of h1: it names h2");
      }
      assertThat(lease("pair", TOKEN, "127.0.0.1").getCode()).isEqualTo(Code.PERMISSION_DENIED);
      assertThat(audit.with("rejected a lease", "CN=h2", "h1")).hasSize(1);
      assertThat(audit.with("rejected a lease", "CN=a pair", "127.0.0.1")).hasSize(1);
    }
    assertThat(LEASED).isEmpty();
  }

  @Test
  void aCertificateWithoutTheTokenIsNotEnough() throws Exception {
    assertThat(lease("h1", "another-0123456789abcdef", "h1").getCode())
        .isEqualTo(Code.UNAUTHENTICATED);
    assertThat(LEASED).isEmpty();
  }

  @Test
  void missingExpiredAndOtherRolesCertificatesAreRejected() throws Exception {
    assertThat(lease("", TOKEN, "h1").getCode()).isEqualTo(Code.UNAVAILABLE);
    // Java's client sends no certificate unless the server lists the certificate's authority.
    assertThat(lease("h1-of-another-role", TOKEN, "h1").getCode()).isEqualTo(Code.UNAVAILABLE);
    try (AuditLines audit = new AuditLines()) {
      assertThat(lease("h5-expired", TOKEN, "h5").getCode()).isEqualTo(Code.UNAVAILABLE);
      Await.until(
          "it is audited",
          TIMEOUT,
          () -> audit.with("rejected an agent's certificate from CN=h5").size() == 1);
    }
    assertThat(LEASED).isEmpty();
    assertThat(lease("h1", TOKEN, "h1").isOk()).as("the valid token, after all failures").isTrue();
    Await.until("it has its lease before the next test begins", TIMEOUT, () -> !LEASED.isEmpty());
  }

  @Test
  void invalidFilesAreNamed() {
    TlsFiles wrongFiles = new TlsFiles(file("token"), file("server.pem"), file("server.key"));
    assertThatThrownBy(() -> AgentAccess.tls(wrongFiles, null))
        .isInstanceOf(IOException.class)
        .hasMessage(file("token") + ": contains no PEM certificate");
  }

  private static Process agent(String name, String certificate) throws IOException {
    List<String> command = new ArrayList<>(List.of(PROGRAMS.resolve("tapline-agent").toString()));
    command.addAll(List.of("--name", name, "--vdev", "net_null0", "--hugepages", "never"));
    command.addAll(List.of("--control-plane", "127.0.0.1:" + registry.port()));
    command.addAll(List.of("--control-plane-ca", controls.file().toString()));
    command.addAll(List.of("--control-plane-certificate", file(certificate + ".pem")));
    command.addAll(List.of("--control-plane-key", file(certificate + ".key")));
    command.addAll(List.of("--token-file", file("token")));
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve(name + ".log").toFile())
        .start();
  }

  @Test
  void aRealAgentPresentsItsCertificateAndReportsItsRejection() throws Exception {
    Process right = agent("h2", "h2");
    Process wrongProcess = agent("h3", "h2");
    Process stranger = agent("h1", "h1-of-another-role");
    try (AuditLines audit = new AuditLines()) {
      Await.until("a lease", TIMEOUT, () -> LEASED.contains("h2"));
      Await.until(
          "a refusal", TIMEOUT, () -> log("h3").contains("is not valid for the lease of h3"));
      assertThat(log("h3")).contains("the certificate of CN=h2").contains("it names h2");
      Await.until(
          "a refused handshake",
          TIMEOUT,
          () -> !audit.with("rejected an agent's certificate from CN=h1").isEmpty());
      assertThat(LEASED).containsExactly("h2");
    } finally {
      for (Process agent : List.of(right, wrongProcess, stranger)) {
        agent.destroy();
        agent.waitFor();
      }
    }
  }

  private static String log(String agent) {
    try {
      return Files.readString(folder.resolve(agent + ".log"));
    } catch (IOException e) {
      return e.toString();
    }
  }
}
