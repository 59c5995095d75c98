package io.tapline.control.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.testing.Certificates;
import io.tapline.flink.TlsFiles;
import io.tapline.sdn.controller.Controller;
import io.tapline.sdn.controller.ControllerOptions;
import io.tapline.sdn.controller.NetworkMap;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.Optional;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ports that are for those with a certificate of one authority: what others get there. */
class MutualTlsTest {
  private static final int PATIENCE_MS = 10_000;
  private static final InetSocketAddress ANY =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  /** OFPT_HELLO of some version, whatever the rest: a switch's first word. */
  private static final byte[] HELLO = {4, 0, 0, 8, 0, 0, 0, 1};

  @TempDir static Path folder;
  private static TlsFiles server;
  private static TlsFiles own;
  private static TlsFiles stranger;

  @BeforeAll
  static void certificates() throws Exception {
    Certificates authority = Certificates.authority(folder, "authority");
    authority.sign("server", "IP:127.0.0.1");
    authority.sign("own", "DNS:own");
    Certificates other = Certificates.authority(folder, "other");
    other.sign("stranger", "DNS:own");
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

  /** How many bytes the server answers with over TLS; 0 if it ends the connection before. */
  private static int answered(int port, TlsFiles client, byte[] said) throws Exception {
    try (SSLSocket socket =
        (SSLSocket)
            client
                .context()
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(PATIENCE_MS);
      socket.getOutputStream().write(said);
      return Math.max(0, socket.getInputStream().read(new byte[64]));
    } catch (IOException refused) {
      return 0;
    }
  }

  /** The same in the clear. TLS may answer with an alert, which is seven bytes. */
  private static int answeredPlainly(int port, byte[] said) throws Exception {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(PATIENCE_MS);
      socket.getOutputStream().write(said);
      byte[] answer = socket.getInputStream().readNBytes(64);
      boolean alert = answer.length == 7 && answer[0] == 0x15;
      return alert ? 0 : answer.length;
    } catch (IOException refused) {
      return 0;
    }
  }

  private static void onlyOwnAreAnswered(int port, byte[] said) throws Exception {
    assertThat(answered(port, own, said)).as("of the authority").isPositive();
    assertThat(answered(port, stranger, said)).as("of another").isZero();
    assertThat(answered(port, TlsFiles.trusting(folder.resolve("authority.pem")), said))
        .as("without a certificate")
        .isZero();
    assertThat(answeredPlainly(port, said)).as("in the clear").isZero();
    assertThat(answered(port, own, said)).as("of the authority, after all that").isPositive();
  }

  @Test
  void switches() throws Exception {
    ControllerOptions options =
        ControllerOptions.of(ANY, NetworkMap.NOTHING).with(Optional.of(server.context()));
    try (Controller controller = Controller.start(options)) {
      onlyOwnAreAnswered(controller.port(), HELLO);
    }
  }
}
