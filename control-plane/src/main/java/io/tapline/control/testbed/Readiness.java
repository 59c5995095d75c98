package io.tapline.control.testbed;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Waits until a testbed is completely up: its processes run, its nodes have opened their sockets,
 * and its controller has discovered the whole network. Fails if a process exits before that, unless
 * the testbed was already complete.
 */
final class Readiness {
  private static final long TIMEOUT_NS = 240_000_000_000L;
  private static final long LOOK_NS = 100_000_000;

  private final TestbedState state;
  private final Daemons daemons;
  private final OwnProcesses processes;
  private final Supplier<JsonNode> controllerStatus;

  Readiness(
      TestbedState state,
      Daemons daemons,
      OwnProcesses processes,
      Supplier<JsonNode> controllerStatus) {
    this.state = state;
    this.daemons = daemons;
    this.processes = processes;
    this.controllerStatus = controllerStatus;
  }

  void await() throws TestbedException {
    long endNs = System.nanoTime() + TIMEOUT_NS;
    for (String missing = missing(); !missing.isEmpty(); missing = missing()) {
      if (System.nanoTime() > endNs) {
        throw new TestbedException(missing);
      }
      requireNoneEnded();
      LockSupport.parkNanos(LOOK_NS);
      if (Thread.interrupted()) {
        Thread.currentThread().interrupt();
        throw new TestbedException("interrupted");
      }
    }
  }

  /** Returns a description of the first missing part; empty if none is missing. */
  private String missing() {
    List<TestbedProcess> there = processes.all();
    for (Daemon daemon : daemons.of(state)) {
      if (there.stream()
          .noneMatch(process -> process.running() && process.name().equals(daemon.name()))) {
        return "%s is not running: %s".formatted(daemon.name(), processes.lastWords(daemon.name()));
      }
    }
    for (String host : state.agents().hosts()) {
      if (!Files.exists(daemons.nodeSocket(host))) {
        return "the MultiLog node of %s does not answer: %s"
            .formatted(host, processes.lastWords("node-" + host));
      }
    }
    return state.ownController() && !foundAll()
        ? "the controller has not discovered the whole network: "
            + processes.lastWords(Daemons.CONTROLLER)
        : "";
  }

  private boolean foundAll() {
    FatTreePlan plan = state.plan();
    JsonNode status = controllerStatus.get();
    return status.path("switches").size() == plan.switches().size()
        && status.path("links").asInt() == plan.cables().size()
        && status.path("hosts").size() == plan.hosts().size()
        && status.path("settled").asBoolean();
  }

  private void requireNoneEnded() throws TestbedException {
    for (TestbedProcess process : processes.all()) {
      if (!state.complete() && process.restarts() > 0) {
        throw new TestbedException(
            "%s ended: %s".formatted(process.name(), processes.lastWords(process.name())));
      }
    }
  }
}
