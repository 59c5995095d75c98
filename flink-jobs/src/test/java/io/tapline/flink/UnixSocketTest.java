package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.flink.support.RedisServer;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisConnectionException;

class UnixSocketTest {
  private static final int MORE_THAN_A_BUFFER = 8 << 20;

  @TempDir Path folder;

  @Test
  void transfersMoreThanTheKernelBuffersInBothDirections() throws Exception {
    try (RedisServer redis = new RedisServer(folder);
        Jedis client = RedisClients.connect(RedisEndpoint.unix(redis.socket(folder)))) {
      String value = "x".repeat(MORE_THAN_A_BUFFER);
      client.set("large", value);
      assertThat(client.get("large")).isEqualTo(value);
      redis.kill();
      assertThatThrownBy(client::ping).isInstanceOf(JedisConnectionException.class);
      assertThatThrownBy(() -> RedisClients.connect(RedisEndpoint.unix(redis.socket(folder))))
          .isInstanceOf(JedisConnectionException.class)
          .hasMessageContaining("unix:" + redis.socket(folder));
    }
  }

  @Test
  void waitsForASilentPeerUntilTheTimeout() throws Exception {
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("silent"));
      server.bind(address);
      try (UnixSocket socket = new UnixSocket(address, 100);
          SocketChannel peer = server.accept()) {
        assertThatThrownBy(() -> socket.getInputStream().read())
            .isInstanceOf(SocketTimeoutException.class);
        assertThatThrownBy(() -> socket.getOutputStream().write(new byte[MORE_THAN_A_BUFFER]))
            .isInstanceOf(SocketTimeoutException.class);
        assertThat(socket.isClosed()).as("half a command was written").isTrue();
      }
    }
  }

  @Test
  void anInterruptedThreadCanStillRead() throws Exception {
    try (RedisServer redis = new RedisServer(folder);
        Jedis client = RedisClients.connect(RedisEndpoint.unix(redis.socket(folder)))) {
      Thread.currentThread().interrupt();
      assertThat(client.ping()).isEqualTo("PONG");
      assertThat(Thread.interrupted()).isTrue();
    }
  }
}
