package io.tapline.control.testbed;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The testbed's daemons, by their pid files. A process is only ours if its command names the
 * folder.
 */
final class OwnProcesses {
  private static final int PATIENCE_SECONDS = 10;
  private static final int LOOKS = 20;
  private static final long LOOK_NS = 10_000_000;

  private final Path folder;

  OwnProcesses(Path folder) {
    this.folder = folder;
  }

  Optional<ProcessHandle> find(String daemon) {
    try {
      long pid = Long.parseLong(Files.readString(folder.resolve(daemon + ".pid")).strip());
      return commandOf(pid).contains(folder + "/") ? ProcessHandle.of(pid) : Optional.empty();
    } catch (IOException | NumberFormatException e) {
      return Optional.empty();
    }
  }

  /** A process that is just becoming another program has none for a moment, a dead one for good. */
  private static String commandOf(long pid) throws IOException {
    Path file = Path.of("/proc", Long.toString(pid), "cmdline");
    String command = Files.readString(file, StandardCharsets.UTF_8);
    for (int again = 0; command.isEmpty() && again < LOOKS; again++) {
      LockSupport.parkNanos(LOOK_NS);
      command = Files.readString(file, StandardCharsets.UTF_8);
    }
    return command;
  }

  /** Ends one, in order if it can; whether none is left. */
  boolean end(String daemon) {
    Optional<ProcessHandle> process = find(daemon);
    if (process.isEmpty()) {
      return true;
    }
    process.get().destroy();
    if (!gone(process.get())) {
      process.get().destroyForcibly();
    }
    return gone(process.get());
  }

  private static boolean gone(ProcessHandle process) {
    try {
      process.onExit().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } catch (Exception e) {
      return !process.isAlive();
    }
  }

  /** Starts a program that outlives this one, and notes its pid. */
  void start(String daemon, List<String> command) throws TestbedException {
    try {
      Path log = folder.resolve(daemon + ".log");
      ProcessBuilder builder =
          new ProcessBuilder(command)
              .redirectInput(Path.of("/dev/null").toFile())
              .redirectErrorStream(true)
              .redirectOutput(log.toFile());
      builder.environment().put("OVS_RUNDIR", folder.toString());
      builder.environment().merge("PATH", "/usr/sbin:/sbin", (path, more) -> path + ":" + more);
      Process process = builder.start();
      Files.writeString(folder.resolve(daemon + ".pid"), process.pid() + "\n");
    } catch (IOException e) {
      throw new TestbedException("can't start " + daemon + ": " + e.getMessage(), e);
    }
  }

  /** The last of what a daemon that was started here has said. */
  String lastWords(String daemon) {
    try {
      List<String> lines = Files.readAllLines(folder.resolve(daemon + ".log"));
      return String.join("; ", lines.subList(Math.max(0, lines.size() - 3), lines.size()));
    } catch (IOException e) {
      return "";
    }
  }
}
