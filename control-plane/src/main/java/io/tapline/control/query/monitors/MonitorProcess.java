package io.tapline.control.query.monitors;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.ChildProcesses;
import io.tapline.control.PipelineException;
import io.tapline.control.ProgressListener;
import io.tapline.control.query.services.KafkaAccess;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.TlsFiles;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One run of {@code tapline-monitor} over capture files: parses its output lines as progress
 * reports and maps any failure to one exception.
 */
final class MonitorProcess {
  private static final Logger LOG = LoggerFactory.getLogger(MonitorProcess.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int WRONG_USAGE = 2;
  private static final int NOT_FOUND = 127;

  /** Exit code after SIGTERM. */
  private static final int TERMINATED = 128 + 15;

  private static final int MAX_UNREAD_CHARACTERS = 2_000;

  private final Process process;
  private final ProgressListener listener;
  private final Runnable onReady;
  private final CompletableFuture<Void> end = new CompletableFuture<>();
  private PipelineException error;
  private String lastLog = "";
  private ProgressListener.Phase phase;
  private volatile boolean ready;
  private volatile boolean stopping;
  private volatile boolean killed;

  /**
   * The monitor's command line.
   *
   * @param program the monitor program
   * @param plugins plug-ins for it to load
   * @param hashKeyFile file with the hash keys, which must not appear on the command line
   * @param login Kafka login, passed in a file like the hash keys; empty if the monitor does not
   *     log in
   * @param plan file with the plan of its query
   * @param id the monitor's ID in plans
   */
  record Command(
      Path program,
      List<Path> plugins,
      Path hashKeyFile,
      Optional<KafkaAccess.LoginFile> login,
      Path plan,
      String id,
      KafkaEndpoint kafka,
      Source source) {
    private List<String> line() {
      List<String> line = new ArrayList<>(List.of(program.toString()));
      line.addAll(List.of("--plan", plan.toString(), "--monitor-id", id, "--status", "json"));
      line.addAll(List.of("--hash-key-file", hashKeyFile.toString()));
      line.addAll(List.of("--output", "kafka", "--brokers", kafka.brokers()));
      login.ifPresent(file -> line.addAll(List.of("--broker-login-file", file.file().toString())));
      TlsFiles tls = kafka.tls();
      if (!tls.isNone()) {
        line.addAll(List.of("--broker-ca", tls.authorities()));
        line.addAll(List.of("--broker-certificate", tls.certificate(), "--broker-key", tls.key()));
      } else {
        // This process has already checked that plain-text connections to its brokers are allowed.
        line.addAll(List.of("--clear", "kafka"));
      }
      plugins.forEach(plugin -> line.addAll(List.of("--plugin", plugin.toString())));
      line.addAll(source.flags());
      return line;
    }
  }

  private MonitorProcess(Process process, ProgressListener listener, Runnable onReady) {
    this.process = process;
    this.listener = listener;
    this.onReady = onReady;
    this.phase = listener.phase("start the monitor");
  }

  /**
   * Starts the process.
   *
   * @param onReady called once the monitor reads packets
   */
  static MonitorProcess start(Command command, ProgressListener listener, Runnable onReady)
      throws IOException {
    ProcessBuilder builder = new ProcessBuilder().redirectOutput(ProcessBuilder.Redirect.DISCARD);
    Process process = ChildProcesses.start(builder, command.line());
    MonitorProcess monitor = new MonitorProcess(process, listener, onReady);
    Thread reader = new Thread(monitor::readStatus, "monitor-status");
    reader.setDaemon(true);
    reader.start();
    return monitor;
  }

  /**
   * Completes when the process has exited: normally on exit code 0, else with a {@link
   * PipelineException}.
   */
  CompletableFuture<Void> end() {
    return end;
  }

  /** Asks the process to flush and exit; {@link #end} completes when it has. */
  void stop() {
    stopping = true;
    // Process.destroy() would also close the streams and lose the final output.
    process.toHandle().destroy();
  }

  /** Kills the process and returns when it has exited; does nothing if it already has. */
  void kill() {
    if (process.isAlive()) {
      killed = true;
      process.destroyForcibly();
      ChildProcesses.stop(process);
    }
  }

  /**
   * Returns true if {@link #kill} ended the process, or {@link #stop} while it was starting, before
   * it handled signals.
   */
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
      phase.close();
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
    lastLog = line.substring(0, Math.min(line.length(), MAX_UNREAD_CHARACTERS));
  }

  private void on(JsonNode status) {
    switch (status.path("event").asText()) {
      case "ready" -> {
        ready = true;
        phase.close();
        phase = listener.phase("read the capture");
        onReady.run();
      }
      case "progress" ->
          listener.progress(
              "reading packets",
              status.path("fraction").asDouble(Double.NaN),
              status.path("packets").asLong(),
              status.path("bytes").asLong());
      case "warning" -> listener.warning(status.path("message").asText());
      case "error" -> error = exception(status);
      default -> LOG.info("monitor: {}", status);
    }
  }

  private static PipelineException exception(JsonNode status) {
    return new PipelineException(kind(status), status.path("message").asText());
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
      if (stopping && !ready && exitCode == TERMINATED) {
        killed = true;
      }
      end.completeExceptionally(error != null ? error : unsaid(exitCode));
    }
  }

  private PipelineException unsaid(int exitCode) {
    PipelineException.Kind kind =
        exitCode == WRONG_USAGE ? PipelineException.Kind.USER : PipelineException.Kind.INTERNAL;
    String last = lastLog.isEmpty() ? "" : "; its last message: " + lastLog;
    if (exitCode == NOT_FOUND) {
      return new PipelineException(kind, "the monitor does not exist: run make build" + last);
    } else if (exitCode > 128) {
      return new PipelineException(
          kind, "the monitor was killed by signal " + (exitCode - 128) + last);
    }
    return new PipelineException(kind, "the monitor ended with exit code " + exitCode + last);
  }
}
