package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs a tutorial's commands in the order of its blocks: programs that keep running (marked {@code
 * start}), and sessions that print the shown output (marked {@code run}). Closing the tutorial ends
 * the programs.
 */
final class Tutorial implements AutoCloseable {
  private static final Pattern BLOCK =
      Pattern.compile(
          "<!-- (start|run)[^>]* -->\n```console\n\\$ ([^\n]*)\n(.*?)```", Pattern.DOTALL);

  private static final long SECONDS = 120;

  private final String text;
  private final Map<String, String> places;
  private final Map<String, String> environment;
  private final List<Cli.Running> started = new ArrayList<>();
  private int sessions;

  /** Waits until the started programs answer. */
  interface Ready {
    void await(List<Cli.Running> started) throws Exception;
  }

  /**
   * Reads a page of docs/tutorials.
   *
   * @param places strings of the page, and their replacements in the test
   */
  Tutorial(String page, Map<String, String> places, Map<String, String> environment)
      throws IOException {
    this.text = Files.readString(Cli.root().resolve("docs/tutorials").resolve(page));
    this.places = places;
    this.environment = environment;
  }

  void run(Ready ready) throws Exception {
    Matcher block = BLOCK.matcher(text);
    while (block.find()) {
      String command = block.group(2);
      for (Map.Entry<String, String> place : places.entrySet()) {
        command = command.replace(place.getKey(), place.getValue());
      }
      if (block.group(1).equals("start")) {
        started.add(shell("exec " + command));
        continue;
      }
      if (sessions++ == 0) {
        ready.await(started);
      }
      try (Cli.Running running = shell(command)) {
        assertThat(running.await(SECONDS).expectSuccess().stdout())
            .as(command)
            .isEqualTo(block.group(3));
      }
    }
  }

  private Cli.Running shell(String command) {
    return Cli.startCommand(
        environment,
        List.of("bash", "-o", "pipefail", "-c", "cd " + Cli.root() + " && " + command));
  }

  int programs() {
    return started.size();
  }

  int sessions() {
    return sessions;
  }

  @Override
  public void close() {
    started.forEach(Cli.Running::close);
  }
}
