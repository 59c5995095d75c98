package io.tapline.flink.support;

import java.io.IOException;
import java.util.List;
import java.util.Set;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisConnectionException;

/**
 * A real redis-server as a child process, which dies with this one. REQUIRES: started from a thread
 * that lives on.
 */
public final class RedisServer implements AutoCloseable {
  private final int port;
  private Process process;

  public RedisServer() throws Exception {
    port = FreePort.choose();
    start();
  }

  /** Starts it again, empty, after {@link #kill}. */
  public void start() throws Exception {
    process =
        new ProcessBuilder(
                List.of(
                    "setpriv",
                    "--pdeathsig",
                    "KILL",
                    "redis-server",
                    "--port",
                    Integer.toString(port),
                    "--bind",
                    "127.0.0.1",
                    "--save",
                    "",
                    "--appendonly",
                    "no"))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    Deadline.await("redis-server on port " + port, this::answers);
  }

  private boolean answers() throws IOException {
    if (!process.isAlive()) {
      throw new IOException("redis-server ended with " + process.exitValue());
    }
    try (Jedis jedis = client()) {
      return jedis.ping().equals("PONG");
    } catch (JedisConnectionException e) {
      return false;
    }
  }

  public Jedis client() {
    return new Jedis("127.0.0.1", port);
  }

  public Set<String> keys(String pattern) {
    try (Jedis jedis = client()) {
      return jedis.keys(pattern);
    }
  }

  public int port() {
    return port;
  }

  public void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  @Override
  public void close() throws Exception {
    kill();
  }
}
