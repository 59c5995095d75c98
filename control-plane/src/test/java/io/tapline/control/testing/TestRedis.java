package io.tapline.control.testing;

import io.tapline.flink.Login;
import io.tapline.flink.RedisClients;
import io.tapline.flink.RedisEndpoint;
import io.tapline.schema.RedisAcl;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A redis-server for one test, which can be stopped at any time. It is open to all clients, or has
 * the users of the Docker cluster and a user {@code admin} with all rights.
 */
public final class TestRedis implements AutoCloseable {
  private static final Duration READY = Duration.ofSeconds(10);

  private static final String PASSWORD = "the-password-of-control";
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));

  private final int port;
  private final List<String> more;
  private Process process;

  private TestRedis(int port, List<String> furtherArguments) {
    this.port = port;
    this.more = furtherArguments;
  }

  public static TestRedis start() throws Exception {
    return start(List.of());
  }

  /**
   * Starts a server with users. The ACL file is created as in the Docker cluster.
   *
   * @param folder receives this file, and {@code redis.password} with the control plane's password
   */
  public static TestRedis startWithUsers(Path folder) throws Exception {
    Files.writeString(folder.resolve("redis.password"), PASSWORD + "\n");
    Path users = folder.resolve("users.acl");
    Process aclfile =
        new ProcessBuilder(
                ROOT.resolve("deploy/images/redis/aclfile").toString(),
                ROOT.resolve("schema/redis.acl").toString(),
                RedisAcl.sha256(PASSWORD))
            .redirectOutput(users.toFile())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    if (aclfile.waitFor() != 0) {
      throw new IOException("aclfile failed");
    }
    Files.writeString(users, "user admin on nopass ~* &* +@all\n", StandardOpenOption.APPEND);
    return start(List.of("--aclfile", users.toString()));
  }

  private static TestRedis start(List<String> furtherArguments) throws Exception {
    TestRedis redis = new TestRedis(freePort(), furtherArguments);
    redis.launch();
    return redis;
  }

  public static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  /** Starts the server, or restarts it on the same port. */
  public void launch() throws Exception {
    List<String> command = new ArrayList<>(List.of("redis-server", "--bind", "127.0.0.1"));
    command.addAll(List.of("--port", Integer.toString(port), "--save", "", "--appendonly", "no"));
    command.addAll(more);
    process =
        new ProcessBuilder(command)
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

  /** Returns a connection with all rights. */
  public Jedis client() {
    return RedisClients.connect(
        more.isEmpty() ? endpoint() : endpoint().withLogin(new Login("admin", "any")));
  }

  /** Returns the endpoint without a login. */
  public RedisEndpoint endpoint() {
    return RedisEndpoint.open("127.0.0.1", port);
  }

  /** Returns the endpoint with the control plane's login. REQUIRES: the server has users. */
  public RedisEndpoint control() {
    return endpoint().withLogin(new Login(RedisAcl.CONTROL, PASSWORD));
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
        .exceptionally(ignored -> process.destroyForcibly())
        .join();
  }
}
