package io.tapline.control.embedded;

import io.tapline.control.ChildProcesses;
import io.tapline.flink.Login;
import io.tapline.flink.RedisClients;
import io.tapline.flink.RedisEndpoint;
import io.tapline.schema.RedisAcl;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A private redis-server, without persistence, on a Unix socket that only this process's user can
 * open. If it exits unexpectedly, it is restarted empty on the same socket.
 */
final class EmbeddedRedis implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EmbeddedRedis.class);
  private static final long READY_NS = 10_000_000_000L;

  /**
   * Maximum length of a socket path on Linux: the path in sockaddr_un has 108 bytes, including the
   * terminating NUL.
   */
  private static final int LONGEST_SOCKET_BYTES = 107;

  private static final int PASSWORD_BYTES = 32;
  private static final FileAttribute<?> PRIVATE =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

  private final Path folder;
  private final Path socket;
  private final RedisEndpoint endpoint;
  private final Consumer<String> onFailure;
  private Process process;
  private boolean closed;

  private EmbeddedRedis(Path folder, Login login, Consumer<String> onFailure) throws IOException {
    this.folder = folder;
    this.socket = socket(folder);
    this.endpoint = RedisEndpoint.unix(socket).withLogin(login);
    this.onFailure = onFailure;
  }

  /**
   * Starts the server with the users of redis.acl and a random password.
   *
   * @param folder folder that only this process's user can access
   * @param onFailure called after an unexpected exit, which loses the data, once the server has
   *     been started again or could not be
   */
  static EmbeddedRedis start(Path folder, Consumer<String> onFailure) throws IOException {
    byte[] password = new byte[PASSWORD_BYTES];
    new SecureRandom().nextBytes(password);
    String text = Base64.getUrlEncoder().withoutPadding().encodeToString(password);
    return start(new EmbeddedRedis(folder, new Login(RedisAcl.CONTROL, text), onFailure));
  }

  /** Starts a server without users: any process that can open the socket may use it. */
  static EmbeddedRedis startOpen(Path folder) throws IOException {
    return start(new EmbeddedRedis(folder, Login.NONE, reason -> {}));
  }

  private static EmbeddedRedis start(EmbeddedRedis redis) throws IOException {
    Files.createFile(log(redis.folder), PRIVATE);
    redis.process = redis.launch();
    if (!redis.awaitReady(redis.process)) {
      redis.process.destroyForcibly();
      throw new IOException(
          "can't start redis-server: "
              + lastLine(redis.folder)
              + "; is the package redis-server installed?");
    }
    redis.watch(redis.process);
    return redis;
  }

  private static Path socket(Path folder) throws IOException {
    Path socket = folder.resolve("redis.sock").toAbsolutePath();
    int bytes = socket.toString().getBytes(StandardCharsets.UTF_8).length;
    if (bytes > LONGEST_SOCKET_BYTES) {
      throw new IOException(
          "the embedded Redis can't listen at %s: the path has %d bytes, but a socket path can have at most %d. Set TMPDIR to a folder with a shorter path"
              .formatted(socket, bytes, LONGEST_SOCKET_BYTES));
    }
    return socket;
  }

  private void watch(Process watched) {
    watched.onExit().thenAcceptAsync(ended -> restart(ended.exitValue()));
  }

  private void restart(int exitCode) {
    LOG.warn("redis-server ended with exit code {}; restarting it", exitCode);
    try {
      Process next = relaunch();
      if (next == null) {
        return;
      }
      if (awaitReady(next)) {
        watch(next);
      } else {
        LOG.error("redis-server did not become ready after its restart: {}", lastLine(folder));
      }
    } catch (IOException e) {
      LOG.error("can't restart redis-server", e);
    }
    onFailure.accept(
        "redis-server ended unexpectedly (exit code " + exitCode + "): its results are lost");
  }

  /** Starts the process again. Returns null if this server was closed. */
  private synchronized Process relaunch() throws IOException {
    if (closed) {
      return null;
    }
    process = launch();
    return process;
  }

  /**
   * Starts the process. Passes the settings through standard input, which keeps the password out of
   * files and command lines.
   */
  private Process launch() throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder()
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log(folder).toFile()));
    Process startedProcess = ChildProcesses.start(builder, List.of("redis-server", "-"));
    try (Writer settings = startedProcess.outputWriter(StandardCharsets.UTF_8)) {
      settings.write(settings());
    } catch (IOException e) {
      LOG.debug("redis-server rejected its settings; see its log", e);
    }
    return startedProcess;
  }

  private String settings() {
    List<String> settings = new ArrayList<>();
    settings.add("port 0");
    settings.add("unixsocket \"" + socket + "\"");
    settings.add("unixsocketperm 600");
    settings.add("save \"\"");
    settings.add("appendonly no");
    settings.add("dir \"" + folder + "\"");
    settings.add("loglevel warning");
    settings.add("maxmemory 512mb");
    settings.add("maxmemory-policy noeviction");
    if (!endpoint.login().isNone()) {
      settings.addAll(RedisAcl.serverUsers(endpoint.login().password()));
    }
    return String.join("\n", settings) + "\n";
  }

  private static Path log(Path folder) {
    return folder.resolve("redis.log");
  }

  private boolean awaitReady(Process starting) {
    long deadline = System.nanoTime() + READY_NS;
    while (starting.isAlive() && System.nanoTime() < deadline) {
      try (Jedis redis = RedisClients.connect(endpoint)) {
        redis.ping();
        return true;
      } catch (JedisException notYet) {
        pause();
      }
    }
    return false;
  }

  private static void pause() {
    try {
      Thread.sleep(2);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static String lastLine(Path folder) {
    try {
      List<String> lines = Files.readAllLines(log(folder));
      return lines.isEmpty() ? "it printed nothing" : lines.get(lines.size() - 1);
    } catch (IOException e) {
      return "its log can't be read (" + e.getMessage() + ")";
    }
  }

  RedisEndpoint endpoint() {
    return endpoint;
  }

  @Override
  public void close() {
    ChildProcesses.stop(last());
  }

  /** Kills the server without a clean shutdown: its data is not needed. */
  void abandon() {
    ChildProcesses.kill(last());
  }

  private synchronized Process last() {
    closed = true;
    return process;
  }
}
