package io.tapline.control.testbed;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Runs programs of the host to completion. */
final class Programs {
  private static final List<String> FOLDERS =
      List.of("/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin");

  private final Map<String, String> environment;

  Programs(Map<String, String> environment) {
    this.environment = Map.copyOf(environment);
  }

  static boolean exists(String program) {
    return FOLDERS.stream().anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
  }

  /**
   * Runs a program; returns its standard output and standard error.
   *
   * @param input standard input of the program
   * @throws TestbedException if it fails; the message contains its output
   */
  String run(String input, List<String> command) throws TestbedException {
    try {
      ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
      builder.environment().putAll(environment);
      builder.environment().merge("PATH", "/usr/sbin:/sbin", (path, more) -> path + ":" + more);
      Process process = builder.start();
      try (OutputStream stdin = process.getOutputStream()) {
        stdin.write(input.getBytes(StandardCharsets.UTF_8));
      } catch (IOException e) {
        // The program exited before it had read all input; its exit code shows why.
      }
      String output =
          new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      if (process.waitFor() != 0) {
        throw new TestbedException("%s failed: %s".formatted(command.get(0), output));
      }
      return output;
    } catch (IOException e) {
      throw new TestbedException("can't run %s: %s".formatted(command.get(0), e.getMessage()), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TestbedException("interrupted", e);
    }
  }

  String run(String... command) throws TestbedException {
    return run("", List.of(command));
  }

  /** Runs all commands in order, even if some fail; returns the errors. */
  List<String> runAll(List<List<String>> commands) {
    List<String> failures = new ArrayList<>();
    for (List<String> command : commands) {
      try {
        run("", command);
      } catch (TestbedException e) {
        failures.add(e.getMessage());
      }
    }
    return failures;
  }
}
