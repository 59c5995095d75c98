package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Runs {@code bin/tapline} as a user would: in a separate process, with its output in files. */
final class Cli {
  /** Tests start many short commands, for which the C2 compiler would cost more than it saves. */
  private static final String QUICK_START = "-XX:TieredStopAtLevel=1";

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final long TIMEOUT_SECONDS = 180;

  private Cli() {}

  /** The result of a finished command. */
  record Result(int exitCode, String stdout, String stderr) {
    /** Parses standard output as JSON lines. */
    List<JsonNode> json() {
      return stdout.lines().filter(line -> !line.isBlank()).map(Cli::parse).toList();
    }

    Result expectSuccess() {
      assertThat(exitCode).as("exit code; stderr: %s", stderr).isZero();
      return this;
    }
  }

  static JsonNode parse(String json) {
    try {
      return MAPPER.readTree(json);
    } catch (IOException e) {
      throw new UncheckedIOException("not JSON: " + json, e);
    }
  }

  /** Returns the repository's root, given by the build or found above the working directory. */
  static Path root() {
    String property = System.getProperty("tapline.root");
    if (property != null) {
      return Path.of(property);
    }
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.exists(folder.resolve("bin/tapline"))) {
      folder = folder.getParent();
    }
    return folder;
  }

  static Result run(String... arguments) {
    return run(Map.of(), arguments);
  }

  /** Runs a command until it ends, with additional environment variables. */
  static Result run(Map<String, String> environment, String... arguments) {
    try (Running running = start(environment, arguments)) {
      return running.await(TIMEOUT_SECONDS);
    }
  }

  static Running start(Map<String, String> environment, String... arguments) {
    return startCommand(environment, tapline(arguments));
  }

  static List<String> tapline(String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(root().resolve("bin/tapline").toString());
    command.addAll(List.of(arguments));
    return command;
  }

  /** Starts any command, with its output in temporary files. */
  static Running startCommand(Map<String, String> environment, List<String> command) {
    Path monitor = root().resolve("build/bin/tapline-monitor");
    assertThat(monitor).as("the native programs must be built first: make native").isExecutable();
    try {
      Path out = Files.createTempFile("tapline-test-", ".out");
      Path err = Files.createTempFile("tapline-test-", ".err");
      ProcessBuilder builder =
          new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
      builder.environment().put("TAPLINE_JAVA_OPTS", QUICK_START);
      builder.environment().putAll(environment);
      return new Running(builder.start(), out, err);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A running command. Closing it kills the process if it is still running. */
  record Running(Process process, Path out, Path err) implements AutoCloseable {
    Result await(long timeoutSeconds) {
      try {
        boolean ended = process.waitFor(timeoutSeconds, TimeUnit.SECONDS);
        assertThat(ended).as("ended within %d s; stderr: %s", timeoutSeconds, stderr()).isTrue();
        return new Result(process.exitValue(), Files.readString(out), stderr());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException(e);
      }
    }

    String stderr() {
      try {
        return Files.readString(err);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public void close() {
      process.destroyForcibly();
      try {
        process.waitFor();
        Files.deleteIfExists(out);
        Files.deleteIfExists(err);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
