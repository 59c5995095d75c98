package io.tapline.control.cli.options;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.ChildProcesses;
import io.tapline.control.cli.console.CommandException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Requests the list of parsers, including those in plug-ins, from the monitor: only the monitor can
 * load plug-ins.
 */
final class PluginCatalogue {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private PluginCatalogue() {}

  /** Returns the catalogue as JSON. */
  static String read(Path monitor, List<Path> plugins) {
    List<String> command = new ArrayList<>(List.of(monitor.toString()));
    command.addAll(List.of("--list-parsers", "--status", "json"));
    plugins.forEach(plugin -> command.addAll(List.of("--plugin", plugin.toString())));
    try {
      Path messages = Files.createTempFile("tapline-plugins-", ".log");
      try {
        return run(command, messages);
      } finally {
        Files.deleteIfExists(messages);
      }
    } catch (IOException e) {
      throw new CommandException("can't load plug-ins: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CommandException("interrupted while loading plug-ins", e);
    }
  }

  private static String run(List<String> command, Path messages)
      throws IOException, InterruptedException {
    Process process =
        ChildProcesses.start(new ProcessBuilder().redirectError(messages.toFile()), command);
    String json = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    int exitCode = process.waitFor();
    if (exitCode != 0) {
      throw new CommandException(error(Files.readAllLines(messages), exitCode));
    }
    return json;
  }

  private static String error(List<String> lines, int exitCode) {
    for (String line : lines) {
      try {
        JsonNode status = MAPPER.readTree(line);
        if (status.path("event").asText().equals("error")) {
          return status.path("message").asText();
        }
      } catch (JsonProcessingException e) {
        // Skips lines that are not status messages.
      }
    }
    return "loading plug-ins: tapline-monitor ended with exit code " + exitCode;
  }
}
