package io.tapline.control.cli.options;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine.ExitCode;

/** Shows users the status that a monitor writes to standard error with {@code --status json}. */
public final class MonitorMessages {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final Console console;
  private final Thread reader;
  private volatile String error = "";

  private MonitorMessages(InputStream stderr, Console console) {
    this.console = console;
    this.reader = new Thread(() -> readAll(stderr), "monitor-messages");
    reader.setDaemon(true);
  }

  public static MonitorMessages read(InputStream stderr, Console console) {
    MonitorMessages messages = new MonitorMessages(stderr, console);
    messages.reader.start();
    return messages;
  }

  private void readAll(InputStream stderr) {
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(stderr, StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        read(line);
      }
    } catch (IOException ended) {
      // The pipe is broken: no more messages will arrive.
    }
  }

  private void read(String line) {
    try {
      on(MAPPER.readTree(line));
    } catch (JsonProcessingException e) {
      console.hint(line);
    }
  }

  private void on(JsonNode status) {
    switch (status.path("event").asText()) {
      case "progress" ->
          console
              .progress()
              .progress(
                  "reading packets",
                  status.path("fraction").asDouble(Double.NaN),
                  status.path("packets").asLong(),
                  status.path("bytes").asLong());
      case "warning" -> console.progress().warning(status.path("message").asText());
      case "error" -> error = status.path("message").asText();
      default -> {}
    }
  }

  /** Waits for the last message, and throws an exception with the error if the monitor failed. */
  public void requireSuccess(int exitCode) throws InterruptedException {
    reader.join();
    console.progress().finish();
    if (exitCode == 0) {
      return;
    }
    String message =
        error.isEmpty()
            ? "tapline-monitor ended with exit code " + exitCode + " and gave no reason"
            : error;
    throw exitCode == ExitCode.USAGE ? new UsageException(message) : new CommandException(message);
  }
}
