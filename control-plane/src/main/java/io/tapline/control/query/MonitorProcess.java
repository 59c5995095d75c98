package io.tapline.control.query;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.PipelineException;
import io.tapline.control.ProgressListener;
import io.tapline.control.embedded.ChildProcesses;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One run of {@code tapline-monitor}: its status lines become progress, warnings and, if it fails,
 * one error.
 */
final class MonitorProcess {
  private static final Logger LOG = LoggerFactory.getLogger(MonitorProcess.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int WRONG_USAGE = 2;
  private static final int NOT_FOUND = 127;
  private static final int MOST_UNREAD_CHARACTERS = 2_000;

  private final Process process;
  private final ProgressListener progress;
  private final Runnable onReady;
  private final CompletableFuture<Void> end = new CompletableFuture<>();
  private PipelineException error;
  private String lastLog = "";
  private volatile boolean killed;

  /**
   * What to run.
   *
   * @param program the monitor
   * @param plugins that it loads
   * @param plan file with the plan's JSON
   * @param id of the monitor in the plan
   */
  record Command(
      Path program, List<Path> plugins, Path plan, String id, String brokers, Source source) {
    private List<String> line() {
      List<String> line = new ArrayList<>(List.of(program.toString()));
      line.addAll(List.of("--plan", plan.toString(), "--monitor-id", id));
      line.addAll(List.of("--output", "kafka", "--brokers", brokers, "--status", "json"));
      plugins.forEach(plugin -> line.addAll(List.of("--plugin", plugin.toString())));
      line.addAll(source.flags());
      return line;
    }
  }

  private MonitorProcess(Process process, ProgressListener progress, Runnable onReady) {
    this.process = process;
    this.progress = progress;
    this.onReady = onReady;
  }

  /**
   * Starts a monitor.
   *
   * @param onReady called once, when it sees packets
   */
  static MonitorProcess start(Command command, ProgressListener progress, Runnable onReady)
      throws IOException {
    ProcessBuilder builder = new ProcessBuilder().redirectOutput(ProcessBuilder.Redirect.DISCARD);
    MonitorProcess monitor =
        new MonitorProcess(ChildProcesses.start(builder, command.line()), progress, onReady);
    Thread reader = new Thread(monitor::readStatus, "monitor-status");
    reader.setDaemon(true);
    reader.start();
    return monitor;
  }

  /**
   * Completes when the process is gone: normally after exit code 0, else with a {@link
   * PipelineException}.
   */
  CompletableFuture<Void> end() {
    return end;
  }

  /** Asks it to flush and end; {@link #end} says when it has. */
  void stop() {
    // Process.destroy() would also close its streams, and what it says at its end would be lost.
    process.toHandle().destroy();
  }

  /** Ends it for good; returns when it is gone. Nothing happens to one that has ended. */
  void kill() {
    if (process.isAlive()) {
      killed = true;
      process.destroyForcibly();
      ChildProcesses.stop(process);
    }
  }

  /** Whether {@link #kill} ended it. */
  boolean killed() {
    return killed;
  }

  private void readStatus() {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        read(line);
      }
      complete(process.waitFor());
    } catch (IOException e) {
      end.completeExceptionally(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      end.completeExceptionally(e);
    }
  }

  private void read(String line) {
    if (!line.startsWith("{")) {
      log(line);
      return;
    }
    try {
      on(MAPPER.readTree(line));
    } catch (JsonProcessingException e) {
      log(line);
    }
  }

  private void log(String line) {
    LOG.info("monitor: {}", line);
    lastLog = line.substring(0, Math.min(line.length(), MOST_UNREAD_CHARACTERS));
  }

  private void on(JsonNode status) {
    switch (status.path("event").asText()) {
      case "ready" -> onReady.run();
      case "progress" ->
          progress.progress(
              "reading packets",
              status.path("fraction").asDouble(Double.NaN),
              status.path("packets").asLong(),
              status.path("bytes").asLong());
      case "warning" -> progress.warning(status.path("message").asText());
      case "error" -> error = new PipelineException(kind(status), status.path("message").asText());
      default -> LOG.info("monitor: {}", status);
    }
  }

  private static PipelineException.Kind kind(JsonNode status) {
    return switch (status.path("kind").asText()) {
      case "user" -> PipelineException.Kind.USER;
      case "resources" -> PipelineException.Kind.RESOURCES;
      default -> PipelineException.Kind.INTERNAL;
    };
  }

  private void complete(int exitCode) {
    if (exitCode == 0) {
      end.complete(null);
    } else {
      end.completeExceptionally(error != null ? error : unsaid(exitCode));
    }
  }

  private PipelineException unsaid(int exitCode) {
    PipelineException.Kind kind =
        exitCode == WRONG_USAGE ? PipelineException.Kind.USER : PipelineException.Kind.INTERNAL;
    String last = lastLog.isEmpty() ? "" : "; its last words: " + lastLog;
    if (exitCode == NOT_FOUND) {
      return new PipelineException(kind, "the monitor is not there: run make build" + last);
    } else if (exitCode > 128) {
      return new PipelineException(
          kind, "the monitor was killed by signal " + (exitCode - 128) + last);
    }
    return new PipelineException(kind, "the monitor ended with exit code " + exitCode + last);
  }
}
