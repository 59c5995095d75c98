package io.tapline.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LocalPeerTest {
  private static final String CLIENT =
      """
      import socket, sys
      socket = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
      socket.recv(1)
      """;

  private static boolean isOwnUser(Socket accepted) {
    return LocalPeer.isOwnUser(
        (InetSocketAddress) accepted.getRemoteSocketAddress(),
        (InetSocketAddress) accepted.getLocalSocketAddress());
  }

  private static ServerSocket listen(String address) throws IOException {
    return new ServerSocket(0, 1, InetAddress.getByName(address));
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1", "127.0.0.2", "::1"})
  void aConnectionBelongsToItsUserUntilItIsClosed(String address) throws Exception {
    try (ServerSocket server = listen(address)) {
      Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
      try (Socket accepted = server.accept()) {
        assertThat(isOwnUser(accepted)).isTrue();
        client.shutdownOutput();
        assertThat(isOwnUser(accepted)).isTrue();
        client.close();
        assertThat(isOwnUser(accepted)).isFalse();
      }
    }
  }

  @Test
  void aConnectionFromAnotherAddressWithTheSamePortsIsNotFound() throws Exception {
    try (ServerSocket server = listen("127.0.0.1");
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket accepted = server.accept()) {
      InetSocketAddress own = (InetSocketAddress) accepted.getLocalSocketAddress();
      InetSocketAddress otherUser =
          new InetSocketAddress(InetAddress.getByName("127.0.0.3"), client.getLocalPort());
      assertThat(LocalPeer.isOwnUser(otherUser, own)).isFalse();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 65_534})
  void rootIsAcceptedAndAnotherUserIsNot(int user) throws Exception {
    assumeTrue(
        System.getProperty("user.name").equals("root"),
        "SKIPPED: only root can run a client as another user");
    try (ServerSocket server = listen("127.0.0.1")) {
      Process client =
          new ProcessBuilder(
                  "setpriv",
                  "--reuid=" + user,
                  "--regid=" + user,
                  "--clear-groups",
                  "/usr/bin/python3",
                  "-c",
                  CLIENT,
                  Integer.toString(server.getLocalPort()))
              .start();
      try (Socket accepted = server.accept()) {
        assertThat(isOwnUser(accepted)).isEqualTo(user == 0);
      } finally {
        client.destroyForcibly().waitFor();
      }
    }
  }
}
