package io.tapline.control.registry;

import io.tapline.sdn.forwarding.RouteVersion;
import java.util.Collection;
import java.util.Set;
import java.util.TreeSet;

/**
 * Distributes routes to all hosts that need them, and determines when no host uses an earlier
 * version any more. Confined to the registry's thread, except {@link #switches}.
 */
final class RouteRollout {
  private final Collection<Agent> agents;
  private volatile Set<String> switches = Set.of();
  private RouteVersion routes;

  /** Action to run when the latest version is confirmed; null afterwards. */
  private Runnable confirmed;

  /**
   * Creates a rollout without routes.
   *
   * @param agents a view of all agents
   */
  RouteRollout(Collection<Agent> agents) {
    this.agents = agents;
  }

  /** Returns the switches of all hosts' taps. Any thread may call it. */
  Set<String> switches() {
    return switches;
  }

  void announce(RouteVersion newRoutes, Runnable onConfirmed) {
    routes = newRoutes;
    confirmed = onConfirmed;
    agents.forEach(agent -> agent.routes.set(newRoutes));
    check();
  }

  /** Handles an agent that took a lease. */
  void joined(Agent agent) {
    TreeSet<String> all = new TreeSet<>();
    agents.forEach(known -> all.addAll(known.routes.switches()));
    switches = all;
    if (routes != null) {
      agent.routes.set(routes);
    }
    check();
  }

  /** Reports that the latest version is confirmed, once no host uses an earlier one. */
  void check() {
    if (confirmed != null && agents.stream().allMatch(agent -> agent.routes.isUpToDate())) {
      confirmed.run();
      confirmed = null;
    }
  }
}
