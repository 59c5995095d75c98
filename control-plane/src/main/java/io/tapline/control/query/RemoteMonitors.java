package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.network.NetworkPlan;
import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.AgentState;
import io.tapline.control.registry.AssignmentEvents;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A query's monitors on hosts, by their agents. It watches once all of them do, and has ended once
 * all have; one that is lost ends it as a failure that names the host. Thread-safe.
 */
final class RemoteMonitors implements QueryMonitor {
  private static final Logger LOG = LoggerFactory.getLogger(RemoteMonitors.class);

  private final AgentRegistry registry;
  private final String query;
  private final List<Monitor> parts;
  private final Runnable onReady;
  private final CompletableFuture<Void> end = new CompletableFuture<>();
  private final Set<String> waiting = new HashSet<>();
  private final Set<String> running = new HashSet<>();
  private volatile boolean killed;

  private RemoteMonitors(AgentRegistry registry, Plan plan, Runnable onReady) {
    this.registry = registry;
    this.query = plan.getQuery();
    this.parts = plan.getMonitorsList();
    this.onReady = onReady;
    parts.forEach(part -> waiting.add(part.getHost()));
    running.addAll(waiting);
  }

  /** The plan with a monitor for each host that has an agent now: each sees what its host does. */
  static Plan everywhere(Plan plan, AgentRegistry registry) {
    Plan.Builder placed = plan.toBuilder().clearMonitors();
    up(registry).forEach(host -> placed.addMonitors(part(host, placed.getMonitorsCount())));
    return placed.build();
  }

  /** The plan with a monitor for each host that packets are mirrored to. */
  static Plan placed(Plan plan, NetworkPlan network) {
    Plan.Builder placed = plan.toBuilder().clearMonitors();
    placed.clearRules().addAllRules(network.placed().rules());
    network
        .parts()
        .keySet()
        .forEach(host -> placed.addMonitors(part(host, placed.getMonitorsCount())));
    return placed.build();
  }

  private static Monitor part(String host, int partition) {
    return Monitor.newBuilder().setId(host).setHost(host).setPartition(partition).build();
  }

  /** The hosts whose agents hold a lease. */
  static Set<String> up(AgentRegistry registry) {
    Set<String> hosts = new TreeSet<>();
    registry.states().stream().filter(AgentState::up).forEach(agent -> hosts.add(agent.name()));
    return hosts;
  }

  /**
   * Assigns each of the plan's monitors to the agent of its host.
   *
   * @param parts by host, what its monitor counts; all of the match where there is none
   */
  static RemoteMonitors start(
      AgentRegistry registry, Plan plan, Map<String, Match> parts, Runnable onReady) {
    RemoteMonitors monitors = new RemoteMonitors(registry, plan, onReady);
    if (plan.getMonitorsCount() == 0) {
      monitors.end.completeExceptionally(
          new PipelineException(Kind.RESOURCES, "no host had an agent when it was submitted"));
    }
    for (Monitor part : plan.getMonitorsList()) {
      Plan own =
          plan.toBuilder()
              .clearMonitors()
              .addMonitors(part)
              .setMatch(parts.getOrDefault(part.getHost(), plan.getMatch()))
              .build();
      registry.assign(
          part.getHost(),
          plan.getQuery(),
          plan.getEpoch(),
          Plans.toJson(own),
          monitors.new Events(part.getHost()));
    }
    return monitors;
  }

  private final class Events implements AssignmentEvents {
    private final String host;

    Events(String host) {
      this.host = host;
    }

    @Override
    public void running() {
      synchronized (waiting) {
        if (!waiting.remove(host) || !waiting.isEmpty()) {
          return;
        }
      }
      onReady.run();
    }

    @Override
    public void ended(JsonNode status) {
      LOG.info("{} has ended on {}: {}", query, host, status.path("accounting"));
      synchronized (waiting) {
        running.remove(host);
        if (!running.isEmpty()) {
          return;
        }
      }
      end.complete(null);
    }

    @Override
    public void failed(String kind, String reason) {
      Kind whose =
          switch (kind) {
            case "user" -> Kind.USER;
            case "resources" -> Kind.RESOURCES;
            default -> Kind.INTERNAL;
          };
      end.completeExceptionally(new PipelineException(whose, reason));
    }

    @Override
    public void warning(String message) {
      LOG.warn("{}: {}", query, message);
    }
  }

  @Override
  public CompletableFuture<Void> end() {
    return end;
  }

  @Override
  public void limit(double rate) {
    parts.forEach(part -> registry.limit(part.getHost(), query, rate));
  }

  @Override
  public void stop() {
    parts.forEach(part -> registry.end(part.getHost(), query));
  }

  /** Whatever an agent still has of the query it is told to end, also if it comes back later. */
  @Override
  public void kill() {
    parts.forEach(part -> registry.forget(part.getHost(), query));
    if (!end.isDone()) {
      killed = true;
      end.completeExceptionally(
          new PipelineException(Kind.RESOURCES, "the monitors do not end the query"));
    }
  }

  @Override
  public boolean killed() {
    return killed;
  }
}
