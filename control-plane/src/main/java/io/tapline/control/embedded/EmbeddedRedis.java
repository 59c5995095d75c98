package io.tapline.control.embedded;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A redis-server of our own on a free loopback port, without persistence. If it ends on its own it
 * is started again on the same port, empty.
 */
final class EmbeddedRedis implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EmbeddedRedis.class);
  private static final int ATTEMPTS = 5;
  private static final long READY_NS = 10_000_000_000L;

  private final Path folder;
  private final int port;
  private final Consumer<String> onFailure;
  private Process process;
  private boolean closed;

  private EmbeddedRedis(Path folder, int port, Process process, Consumer<String> onFailure) {
    this.folder = folder;
    this.port = port;
    this.process = process;
    this.onFailure = onFailure;
  }

  /**
   * Starts it; a port that somebody else took meanwhile is tried again with another.
   *
   * @param onFailure hears that it ended on its own, when it is there again: what it held is lost
   */
  static EmbeddedRedis start(Path folder, Consumer<String> onFailure) throws IOException {
    for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
      int port = Ports.free(1)[0];
      Process process = launch(folder, port);
      if (awaitReady(process, port)) {
        EmbeddedRedis redis = new EmbeddedRedis(folder, port, process, onFailure);
        redis.watch(process);
        return redis;
      }
      process.destroyForcibly();
    }
    throw new IOException(
        "redis-server does not start: "
            + lastLine(folder)
            + "; is the package redis-server installed?");
  }

  private void watch(Process watched) {
    watched.onExit().thenAcceptAsync(ended -> restart(ended.exitValue()));
  }

  private void restart(int exitCode) {
    synchronized (this) {
      if (closed) {
        return;
      }
      LOG.warn("redis-server ended with exit code {} and is started again", exitCode);
      try {
        process = launch(folder, port);
      } catch (IOException e) {
        LOG.error("redis-server can't be started again", e);
        return;
      }
    }
    if (awaitReady(process, port)) {
      watch(process);
    } else {
      LOG.error("redis-server does not come back: {}", lastLine(folder));
    }
    onFailure.accept(
        "redis-server ended unexpectedly (exit code " + exitCode + "): its results are lost");
  }

  private static Process launch(Path folder, int port) throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder()
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log(folder).toFile()));
    List<String> command =
        List.of(
            "redis-server",
            "--bind",
            "127.0.0.1",
            "--port",
            Integer.toString(port),
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            folder.toString(),
            "--loglevel",
            "warning",
            "--maxmemory",
            "512mb",
            "--maxmemory-policy",
            "noeviction");
    return ChildProcesses.start(builder, command);
  }

  private static Path log(Path folder) {
    return folder.resolve("redis.log");
  }

  private static boolean awaitReady(Process process, int port) {
    long deadline = System.nanoTime() + READY_NS;
    while (process.isAlive() && System.nanoTime() < deadline) {
      try (Jedis redis = new Jedis("127.0.0.1", port)) {
        // Another's server on this port would answer too: only ours has our child's process ID.
        return redis.info("server").contains("process_id:" + process.pid() + "\r\n");
      } catch (JedisException notYet) {
        pause();
      }
    }
    return false;
  }

  private static void pause() {
    try {
      Thread.sleep(10);
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

  int port() {
    return port;
  }

  @Override
  public void close() {
    Process last;
    synchronized (this) {
      closed = true;
      last = process;
    }
    ChildProcesses.stop(last);
  }
}
