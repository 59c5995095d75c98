package io.tapline.flink.support;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A server as a child process, which ends when this process ends, and can be killed and restarted.
 * REQUIRES: the thread that starts the server outlives it.
 */
public final class ServerProcess implements AutoCloseable {
  private final Path log;
  private final List<String> command;
  private Process process;

  /**
   * Creates a process without starting it.
   *
   * @param log file to which the server's output is appended
   */
  public ServerProcess(Path log, List<String> command) {
    this.log = log;
    this.command = new ArrayList<>(List.of("setpriv", "--pdeathsig", "KILL"));
    this.command.addAll(command);
  }

  /** Creates a process for a Java program with this test's libraries, without starting it. */
  public static ServerProcess java(
      Path log, List<String> options, String main, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + "/bin/java");
    // The process runs only for seconds, so further compilation and verification would not pay off.
    command.addAll(
        List.of(
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:-BytecodeVerificationRemote"));
    command.add(
        "-Dorg.apache.logging.log4j.level=" + System.getProperty("tapline.test.log", "ERROR"));
    command.addAll(options);
    command.addAll(List.of("-cp", libraries(), main));
    command.addAll(arguments);
    return new ServerProcess(log, command);
  }

  /** Returns this test's class path without this module's classes, which contain the job. */
  private static String libraries() {
    String all =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    return Arrays.stream(all.split(":"))
        .filter(entry -> !entry.contains("/flink-jobs/target/"))
        .collect(Collectors.joining(":"));
  }

  public ServerProcess start() throws IOException {
    process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .start();
    return this;
  }

  /**
   * Checks that the process is running.
   *
   * @throws IllegalStateException if the process has ended
   */
  public void requireAlive() {
    if (!process.isAlive()) {
      throw new IllegalStateException(
          "the process ended with " + process.exitValue() + ", see " + log);
    }
  }

  /** Runs a garbage collection in a Java program, so that only live objects remain. */
  public void collectGarbage() throws IOException, InterruptedException {
    new ProcessBuilder("jcmd", Long.toString(process.pid()), "GC.run")
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .start()
        .waitFor();
  }

  /** Kills the process with SIGKILL; returns when it has ended. */
  public void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  @Override
  public void close() throws InterruptedException {
    if (process != null) {
      kill();
    }
  }
}
