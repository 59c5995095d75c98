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
 * A real redis-server as a child process, which dies with this one. REQUIRES: started from a thread
 * that lives on.
 */
public final class RedisServer implements AutoCloseable {
  private final int port;
  private final List<String> persistence;
  private Process process;

  /** One that keeps nothing. */
  public RedisServer() throws Exception {
    this(List.of("--appendonly", "no"));
  }

  /** One with an append-only file in a folder that is there, and a socket beside. */
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

  /** Starts it again, with what it kept, after {@link #kill}. */
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

  /** Names of all commands that a user may call with some keys, subcommands as {@code acl|list}. */
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
    subcommands.forEach(each -> addAllowed(jedis, user, (List<?>) each, allowed));
    List<String> words = new ArrayList<>(List.of("DRYRUN", user));
    words.addAll(List.of(name.split("[|]")));
    int length = 2 + (int) Math.abs((Long) command.get(1));
    while (words.size() < length) {
      words.add("1");
    }
    if (subcommands.isEmpty()) {
      Object answer =
          SafeEncoder.encodeObject(
              jedis.sendCommand(Protocol.Command.ACL, words.toArray(String[]::new)));
      if (!answer.toString().contains("no permissions to run")) {
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

  /** SIGKILL, and at once the same again; returns when it answers. */
  public void replace() throws Exception {
    kill();
    start();
  }

  @Override
  public void close() throws Exception {
    kill();
  }
}
