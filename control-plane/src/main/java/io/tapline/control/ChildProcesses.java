package io.tapline.control;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Starts processes that die with this process, even if it is killed.
 *
 * <p>Linux sends the parent-death signal when the <em>thread</em> that started the child ends, so
 * one thread that lives as long as the JVM starts them all. If the JVM dies before the child has
 * requested that signal, the child detects that its parent has changed and exits. Each child has
 * its own session: Ctrl-C at a terminal reaches only the JVM, which shuts its children down
 * gracefully.
 */
public final class ChildProcesses {
  /** A shell script that runs the command after $1 if its parent is still the process $1. */
  private static final String CHECKED = "[ \"$PPID\" = \"$1\" ] || exit 125; shift; exec \"$@\"";

  private static final ExecutorService STARTER =
      Executors.newSingleThreadExecutor(
          runnable -> {
            Thread thread = new Thread(runnable, "child-starter");
            thread.setDaemon(true);
            return thread;
          });
  private static final Duration GRACE = Duration.ofSeconds(10);

  private ChildProcesses() {}

  /**
   * Starts a command with the builder's redirections and environment; the builder's own command is
   * replaced. The process ID is the command's. Exit code 127 means that the program is missing.
   */
  public static Process start(ProcessBuilder builder, List<String> command) throws IOException {
    builder.command(guarded(command));
    try {
      return CompletableFuture.supplyAsync(() -> startNow(builder), STARTER).get();
    } catch (ExecutionException e) {
      throw new IOException(
          "can't start " + command.get(0) + ": " + e.getCause().getMessage(), e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while starting " + command.get(0), e);
    }
  }

  private static List<String> guarded(List<String> command) {
    String self = Long.toString(ProcessHandle.current().pid());
    List<String> all =
        new ArrayList<>(
            List.of("setsid", "setpriv", "--pdeathsig", "KILL", "--", "sh", "-c", CHECKED, "sh"));
    all.add(self);
    all.addAll(command);
    return all;
  }

  private static Process startNow(ProcessBuilder builder) {
    try {
      return builder.start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Sends SIGKILL; returns when the process has exited. */
  public static void kill(Process process) {
    try {
      process.destroyForcibly().waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Sends SIGTERM, then SIGKILL if the process has not exited 10 s later; returns when it has. */
  public static void stop(Process process) {
    process.destroy();
    try {
      if (!process.waitFor(GRACE.toMillis(), TimeUnit.MILLISECONDS)) {
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
