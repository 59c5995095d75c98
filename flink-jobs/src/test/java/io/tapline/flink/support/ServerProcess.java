package io.tapline.flink.support;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A server as a child process, which dies with this one; can be killed and started again. REQUIRES:
 * started from a thread that lives on.
 */
public final class ServerProcess implements AutoCloseable {
  private final Path log;
  private final List<String> command;
  private Process process;

  /**
   * @param log file to which everything that it prints is appended
   */
  public ServerProcess(Path log, List<String> command) {
    this.log = log;
    this.command = new ArrayList<>(List.of("setpriv", "--pdeathsig", "KILL"));
    this.command.addAll(command);
  }

  /** A Java program out of this test's libraries. */
  public static ServerProcess java(
      Path log, List<String> options, String main, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + "/bin/java");
    // It lives for seconds: what it would earn back later is left out.
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

  /** This test's class path without the classes of this module, as if the job were not there. */
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
   * @throws IllegalStateException if it ended by itself
   */
  public void requireAlive() {
    if (!process.isAlive()) {
      throw new IllegalStateException(
          "the process ended with " + process.exitValue() + ", see " + log);
    }
  }

  /** Collects the garbage of a Java program, so that only live objects remain. */
  public void collectGarbage() throws IOException, InterruptedException {
    new ProcessBuilder("jcmd", Long.toString(process.pid()), "GC.run")
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .start()
        .waitFor();
  }

  /** SIGKILL; returns when it is gone. */
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
