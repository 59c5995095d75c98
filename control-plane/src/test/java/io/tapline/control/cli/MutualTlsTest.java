package io.tapline.control.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.testing.AuditLines;
import io.tapline.control.testing.Await;
import io.tapline.control.testing.Certificates;
import io.tapline.flink.TlsFiles;
import io.tapline.sdn.controller.Controller;
import io.tapline.sdn.controller.ControllerOptions;
import io.tapline.sdn.controller.NetworkMap;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.SwitchTls;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests how ports that require a certificate from one authority respond to clients without one. */
class MutualTlsTest {
  private static final int TIMEOUT_MS = 10_000;
  private static final InetSocketAddress ANY =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  /** OFPT_HELLO (OpenFlow 1.3), the first message of a switch. */
  private static final byte[] HELLO = {4, 0, 0, 8, 0, 0, 0, 1};

  private static final int MULTIPART_REQUEST = 18;

  @TempDir static Path folder;
  private static Certificates authority;
  private static TlsFiles server;
  private static TlsFiles own;
  private static TlsFiles stranger;

  @BeforeAll
  static void certificates() throws Exception {
    authority = Certificates.authority(folder, "authority");
    authority.sign("server", "IP:127.0.0.1");
    authority.sign("own", "DNS:own");
    Certificates otherAuthority = Certificates.authority(folder, "other");
    otherAuthority.sign("stranger", "DNS:own");
    server = files("server");
    own = files("own");
    stranger = files("stranger");
  }

  private static TlsFiles files(String name) {
    return new TlsFiles(
        folder.resolve("authority.pem").toString(),
        folder.resolve(name + ".pem").toString(),
        folder.resolve(name + ".key").toString());
  }

  /**
   * Returns the length of the server's response over TLS; 0 if it closes the connection instead.
   */
  private static int answered(int port, TlsFiles client, byte[] said) throws Exception {
    try (SSLSocket socket =
        (SSLSocket)
            client
                .context()
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(TIMEOUT_MS);
      socket.getOutputStream().write(said);
      return Math.max(0, socket.getInputStream().read(new byte[64]));
    } catch (IOException e) {
      return 0;
    }
  }

  /**
   * Returns the length of the server's response to a client without TLS; 0 if it closes the
   * connection or sends a TLS alert, which has seven bytes.
   */
  private static int answeredPlainly(int port, byte[] said) throws Exception {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(TIMEOUT_MS);
      socket.getOutputStream().write(said);
      byte[] response = socket.getInputStream().readNBytes(64);
      boolean alert = response.length == 7 && response[0] == 0x15;
      return alert ? 0 : response.length;
    } catch (IOException e) {
      return 0;
    }
  }

  private static void onlyOwnAreAnswered(int port, byte[] said) throws Exception {
    assertThat(answered(port, own, said)).as("certificate of the authority").isPositive();
    assertThat(answered(port, stranger, said)).as("certificate of another authority").isZero();
    assertThat(answered(port, TlsFiles.trusting(folder.resolve("authority.pem")), said))
        .as("without a certificate")
        .isZero();
    assertThat(answeredPlainly(port, said)).as("unencrypted").isZero();
    assertThat(answered(port, own, said))
        .as("certificate of the authority, after all others")
        .isPositive();
  }

  @Test
  void switchesNeedACertificate() throws Exception {
    ControllerOptions options =
        ControllerOptions.of(ANY, NetworkMap.NOTHING)
            .with(Optional.of(new SwitchTls(server.context(), false)));
    try (Controller controller = Controller.start(options)) {
      onlyOwnAreAnswered(controller.port(), HELLO);
    }
  }

  /**
   * Returns true if the controller asks a switch with this certificate and datapath ID for its
   * ports.
   */
  private static boolean isTaken(Controller controller, String certificate, long datapath)
      throws Exception {
    try (SSLSocket socket =
        (SSLSocket)
            files(certificate)
                .context()
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), controller.port())) {
      socket.setSoTimeout(TIMEOUT_MS);
      DataInputStream in = new DataInputStream(socket.getInputStream());
      socket.getOutputStream().write(HELLO);
      assertThat(nextType(in)).as("hello").isZero();
      assertThat(nextType(in)).as("features request").isEqualTo(5);
      socket.getOutputStream().write(features(datapath));
      return nextType(in) == MULTIPART_REQUEST;
    } catch (IOException e) {
      return false;
    }
  }

  /** Reads a complete message and returns its type. */
  private static int nextType(DataInputStream in) throws IOException {
    byte[] header = in.readNBytes(8);
    if (header.length < 8) {
      throw new EOFException();
    }
    in.skipNBytes(ByteBuffer.wrap(header).getShort(2) - 8);
    return header[1];
  }

  private static byte[] features(long datapath) {
    return ByteBuffer.allocate(32)
        .put(new byte[] {4, 6, 0, 32})
        .putInt(1)
        .putLong(datapath)
        .putInt(0)
        .put((byte) 4)
        .array();
  }

  @Test
  void aSwitchActsOnlyForTheDatapathsOfItsCertificate() throws Exception {
    authority.sign(
        "two", "switch", "URI:tapline:datapath:0xfa,URI:tapline:datapath:18446744073709551615");
    authority.sign("none", "switch", "DNS:switch");
    authority.sign("wrong", "switch", "URI:tapline:datapath:edge,URI:tapline:switch:0xfa");
    ControllerOptions options = ControllerOptions.of(ANY, NetworkMap.NOTHING);
    try (AuditLines audit = new AuditLines();
        Controller controller =
            Controller.start(options.with(Optional.of(new SwitchTls(server.context(), false))))) {
      assertThat(isTaken(controller, "two", 0xfa)).isTrue();
      assertThat(isTaken(controller, "two", -1)).as("the highest ID").isTrue();
      assertThat(isTaken(controller, "two", 1)).as("datapath of another switch").isFalse();
      assertThat(isTaken(controller, "two", 1)).as("the same datapath again").isFalse();
      assertThat(isTaken(controller, "none", 0xfa)).isFalse();
      assertThat(isTaken(controller, "wrong", 0xfa)).isFalse();
      assertThat(controller.counters().get(Counter.FOREIGN_DATAPATHS)).isEqualTo(4);
      assertThat(
              audit.with(
                  "rejected a switch at 127.0.0.1",
                  "CN=switch is not valid for datapath 0x1",
                  "tapline:datapath:0xfa"))
          .hasSize(1);
    }
    try (Controller controller =
        Controller.start(options.with(Optional.of(new SwitchTls(server.context(), true))))) {
      assertThat(isTaken(controller, "none", 0xfa))
          .as("certificate names no ID, and any ID is allowed")
          .isTrue();
      assertThat(isTaken(controller, "two", 1)).as("certificate names other IDs").isFalse();
      assertThat(isTaken(controller, "wrong", 0xfa)).as("certificate names no valid ID").isFalse();
    }
  }

  @Test
  void certificatesOfOtherRolesAndExpiredOnesAreAudited() throws Exception {
    authority.signExpired("old", "switch", "URI:tapline:datapath:0x1");
    for (String refused : List.of("stranger", "old")) {
      try (AuditLines audit = new AuditLines();
          Controller controller =
              Controller.start(
                  ControllerOptions.of(ANY, NetworkMap.NOTHING)
                      .with(Optional.of(new SwitchTls(server.context(), false))))) {
        assertThat(isTaken(controller, refused, 1)).as(refused).isFalse();
        Await.until(
            refused,
            Duration.ofMillis(TIMEOUT_MS),
            () -> audit.with("rejected a switch at 127.0.0.1: ").size() == 1);
        assertThat(controller.counters().get(Counter.TLS_FAILURES)).as(refused).isEqualTo(1);
      }
    }
  }
}
