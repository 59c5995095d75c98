package io.tapline.control.testing;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisException;

/** A redis-server of a test's own, which can be stopped in the middle. */
public final class TestRedis implements AutoCloseable {
  private static final Duration READY = Duration.ofSeconds(10);

  private final int port;
  private Process process;

  private TestRedis(int port) {
    this.port = port;
  }

  public static TestRedis start() throws Exception {
    TestRedis redis = new TestRedis(freePort());
    redis.launch();
    return redis;
  }

  public static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  /** Starts it, or starts it again on the same port. */
  public void launch() throws Exception {
    process =
        new ProcessBuilder(
                "redis-server",
                "--bind",
                "127.0.0.1",
                "--port",
                Integer.toString(port),
                "--save",
                "",
                "--appendonly",
                "no")
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    Await.until("redis-server answers", READY, this::answers);
  }

  private boolean answers() {
    try (Jedis redis = client()) {
      return redis.info("server").contains("process_id:" + process.pid() + "\r\n");
    } catch (JedisException notYet) {
      return false;
    }
  }

  public Jedis client() {
    return new Jedis("127.0.0.1", port);
  }

  public String address() {
    return "127.0.0.1:" + port;
  }

  @Override
  public void close() {
    process.destroy();
    process
        .onExit()
        .orTimeout(5, TimeUnit.SECONDS)
        .exceptionally(late -> process.destroyForcibly())
        .join();
  }
}
