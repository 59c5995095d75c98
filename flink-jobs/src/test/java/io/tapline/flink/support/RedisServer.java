package io.tapline.flink.support;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.SafeEncoder;

/**
 * A real redis-server as a child process, which ends when this process ends. REQUIRES: the thread
 * that starts the server outlives it.
 */
public final class RedisServer implements AutoCloseable {
  private final int port;
  private final List<String> persistence;
  private Process process;

  /** Starts a server without persistence. */
  public RedisServer() throws Exception {
    this(List.of("--appendonly", "no"));
  }

  /** Starts a server with an append-only file and a Unix socket in an existing folder. */
  public RedisServer(Path directory) throws Exception {
    this(
        List.of(
            "--appendonly",
            "yes",
            "--dir",
            directory.toString(),
            "--unixsocket",
            directory.resolve("redis.sock").toString()));
  }

  private RedisServer(List<String> persistence) throws Exception {
    this.persistence = persistence;
    port = FreePort.choose();
    start();
  }

  /** Starts the server; after {@link #kill}, with its persisted data. */
  public void start() throws Exception {
    List<String> command = new ArrayList<>(List.of("setpriv", "--pdeathsig", "KILL"));
    command.addAll(List.of("redis-server", "--port", Integer.toString(port)));
    command.addAll(List.of("--bind", "127.0.0.1", "--save", ""));
    command.addAll(persistence);
    process =
        new ProcessBuilder(command)
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
    } catch (JedisDataException reading) {
      return false;
    }
  }

  public Jedis client() {
    return new Jedis("127.0.0.1", port);
  }

  public Path socket(Path directory) {
    return directory.resolve("redis.sock");
  }

  /**
   * Returns the commands that a user may call with some keys, with subcommands as {@code acl|list}.
   */
  public Set<String> commandsOf(String user) {
    Set<String> allowed = new TreeSet<>();
    try (Jedis jedis = client()) {
      for (Object command : (List<?>) jedis.sendCommand(Protocol.Command.COMMAND)) {
        addAllowed(jedis, user, (List<?>) command, allowed);
      }
    }
    return allowed;
  }

  private static void addAllowed(Jedis jedis, String user, List<?> command, Set<String> allowed) {
    String name = SafeEncoder.encode((byte[]) command.get(0));
    List<?> subcommands = (List<?>) command.get(9);
    subcommands.forEach(subcommand -> addAllowed(jedis, user, (List<?>) subcommand, allowed));
    List<String> words = new ArrayList<>(List.of("DRYRUN", user));
    words.addAll(List.of(name.split("[|]")));
    int length = 2 + (int) Math.abs((Long) command.get(1));
    while (words.size() < length) {
      words.add("1");
    }
    if (subcommands.isEmpty()) {
      Object response =
          SafeEncoder.encodeObject(
              jedis.sendCommand(Protocol.Command.ACL, words.toArray(String[]::new)));
      if (!response.toString().contains("no permissions to run")) {
        allowed.add(name);
      }
    }
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

  /** Kills the server with SIGKILL and restarts it immediately; returns once it answers. */
  public void replace() throws Exception {
    kill();
    start();
  }

  @Override
  public void close() throws Exception {
    kill();
  }
}
