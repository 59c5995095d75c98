package io.tapline.control.embedded;

import io.tapline.control.ChildProcesses;
import io.tapline.control.Tap;
import io.tapline.control.query.monitors.PartPlans;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.AgentState;
import io.tapline.flink.TlsFiles;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The agents that capture on this host's interfaces for this process: {@code tapline-agent} child
 * processes, each with a lease like any other host's agent. An agent that dies is restarted, and
 * its queries resume. Thread-safe.
 */
public final class LocalAgents implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LocalAgents.class);

  private static final Duration READY = Duration.ofSeconds(30);
  private static final long POLL_MS = 10;
  private static final long LAST_WORDS_MS = 100;

  /** Pauses before a restart of an agent: the initial one, which doubles, and the longest. */
  private static final long FIRST_PAUSE_MS = 50;

  private static final long LONGEST_PAUSE_MS = 10_000;

  /** Run time after which an agent's options can't be why it dies, so the pauses start over. */
  private static final long HEALTHY_NS = 30_000_000_000L;

  /**
   * The options of every agent.
   *
   * @param program tapline-agent, in the same folder as tapline-monitor
   * @param networkInterface interface that the agents capture on; empty for taps alone
   * @param taps taps of interfaces that the agents also capture on
   * @param plugins plug-ins for the monitor to load
   * @param kafkaTls TLS files for the monitor's connections to brokers; none for unencrypted
   *     connections
   */
  public record Settings(
      Path program,
      Optional<String> networkInterface,
      List<Tap> taps,
      List<Path> plugins,
      TlsFiles kafkaTls) {
    private List<String> command(String name, int port) {
      List<String> line = new ArrayList<>(List.of(program.toString(), "--name", name));
      networkInterface.ifPresent(device -> line.addAll(List.of("--interface", device)));
      taps.forEach(tap -> line.addAll(List.of("--tap", tap.text())));
      line.addAll(List.of("--control-plane", "127.0.0.1:" + port));
      if (kafkaTls.isNone()) {
        // This process has already checked that plain-text connections to its brokers are allowed.
        line.addAll(List.of("--clear", "kafka"));
      } else {
        line.addAll(List.of("--broker-ca", kafkaTls.authorities()));
        line.addAll(List.of("--broker-certificate", kafkaTls.certificate()));
        line.addAll(List.of("--broker-key", kafkaTls.key()));
      }
      plugins.forEach(plugin -> line.addAll(List.of("--plugin", plugin.toString())));
      return line;
    }
  }

  private final Settings settings;
  private final int port;
  private final List<Child> children = new ArrayList<>();
  private boolean closed;

  /** An agent's current process. */
  private final class Child {
    private final String name;
    private Process process;
    private long startedNs;
    private long pauseMs;
    private volatile String lastLine = "it printed nothing";

    Child(String name) {
      this.name = name;
    }

    /** Starts the process. REQUIRES: the caller holds the lock of the {@link LocalAgents}. */
    void launch() throws IOException {
      ProcessBuilder builder = new ProcessBuilder().redirectErrorStream(true);
      process = ChildProcesses.start(builder, settings.command(name, port));
      startedNs = System.nanoTime();
      Process startedProcess = process;
      Thread reader = new Thread(() -> log(startedProcess), "agent-" + name);
      reader.setDaemon(true);
      reader.start();
      startedProcess.onExit().thenAcceptAsync(ended -> restart(this, ended.exitValue(), reader));
    }

    private void log(Process process) {
      try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          lastLine = line;
          LOG.info("{}", line);
        }
      } catch (IOException e) {
        LOG.warn("can't read the output of {}: {}", name, e.getMessage());
      }
    }

    /** Returns the pause before the next start. */
    long nextPauseMs() {
      boolean healthy = System.nanoTime() - startedNs > HEALTHY_NS;
      pauseMs = healthy || pauseMs == 0 ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, 2 * pauseMs);
      return pauseMs;
    }
  }

  private LocalAgents(Settings settings, int port) {
    this.settings = settings;
    this.port = port;
  }

  /**
   * Returns the names of the agents that this number of concurrent queries needs, beginning with
   * local-0.
   */
  public static List<String> names(int maxQueries) {
    int queriesPerMonitor = PartPlans.QUERIES_PER_MONITOR;
    int agents = (maxQueries + queriesPerMonitor - 1) / queriesPerMonitor;
    return IntStream.range(0, agents).mapToObj(i -> "local-" + i).toList();
  }

  /**
   * Starts the agents; returns once they have leases.
   *
   * @throws IOException with the agent's last line of output if one does not start
   */
  public static LocalAgents start(Settings settings, List<String> names, AgentRegistry registry)
      throws IOException {
    LocalAgents agents = new LocalAgents(settings, registry.port());
    try {
      for (String name : names) {
        agents.add(name);
      }
      agents.awaitLeases(registry);
      return agents;
    } catch (IOException e) {
      agents.close();
      throw e;
    }
  }

  private synchronized void add(String name) throws IOException {
    Child child = new Child(name);
    child.launch();
    children.add(child);
  }

  private void awaitLeases(AgentRegistry registry) throws IOException {
    long deadline = System.nanoTime() + READY.toNanos();
    for (Child child : children) {
      while (registry.states().stream().noneMatch(state -> isUp(state, child.name))) {
        if (hasFailed(child) || System.nanoTime() > deadline) {
          throw new IOException("can't start tapline-agent: " + child.lastLine);
        }
        pause();
      }
    }
  }

  private static boolean isUp(AgentState state, String name) {
    return state.up() && state.name().equals(name);
  }

  /** Returns true if the agent has died at least once. */
  private synchronized boolean hasFailed(Child child) {
    return child.pauseMs > 0;
  }

  private static void pause() throws IOException {
    try {
      Thread.sleep(POLL_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while starting tapline-agent", e);
    }
  }

  /**
   * Restarts an agent that has ended, after waiting briefly for its last output: its monitor writes
   * to the same pipe and may still be flushing.
   */
  private void restart(Child child, int exitCode, Thread reader) {
    try {
      reader.join(LAST_WORDS_MS);
      later(child, "ended with exit code " + exitCode);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized void later(Child child, String event) {
    long pauseMs = child.nextPauseMs();
    if (!closed) {
      LOG.warn("agent {} {}; restarting it in {} ms", child.name, event, pauseMs);
      CompletableFuture.delayedExecutor(pauseMs, TimeUnit.MILLISECONDS)
          .execute(() -> relaunch(child));
    }
  }

  private synchronized void relaunch(Child child) {
    if (closed) {
      return;
    }
    try {
      child.launch();
    } catch (IOException e) {
      later(child, "could not be started: " + e.getMessage());
    }
  }

  /** Shuts the agents down gracefully: their monitors send their remaining data. */
  @Override
  public void close() {
    List<Process> processes;
    synchronized (this) {
      closed = true;
      processes = children.stream().map(child -> child.process).toList();
    }
    processes.forEach(process -> process.toHandle().destroy());
    processes.forEach(ChildProcesses::stop);
  }
}
