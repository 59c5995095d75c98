package io.tapline.control.query;

import io.tapline.compiler.network.Traffic;
import io.tapline.control.registry.AgentState;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.ParserArgument;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Rule;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The collectors of a query that must see all traffic: agents with a tap for each switch that
 * copies to them. Such a tap names only its switch; the inventory defines which port of the switch
 * leads to the agent.
 */
final class TrafficCollectors {
  static final Traffic NONE = new Traffic(Traffic.Vantage.EDGE, Map.of());

  private TrafficCollectors() {}

  /** Returns true if a query's parsers must see all traffic. */
  static boolean wants(Plan plan) {
    return plan.getQueuesCount() == 0
        && plan.getArgumentsList().stream().anyMatch(TrafficCollectors::isVantage);
  }

  private static boolean isVantage(ParserArgument argument) {
    return argument.getName().equals(Traffic.ARGUMENT);
  }

  /** Returns the widest vantage that the query's parsers name. */
  private static Traffic.Vantage vantage(Plan plan) {
    return plan.getArgumentsList().stream()
        .filter(TrafficCollectors::isVantage)
        .map(entry -> Traffic.Vantage.valueOf(entry.getValue().toUpperCase(Locale.ROOT)))
        .max(Comparator.naturalOrder())
        .orElseThrow();
  }

  /**
   * Returns the traffic that switches can copy for a query; without collectors if agents have no
   * taps that belong to switches. If several agents have a tap of the same switch, the first of
   * them in alphabetical order receives the copies.
   *
   * @param monitorsAt hosts with a separate port for copies at a switch
   */
  static Traffic find(
      Plan plan, Collection<AgentState> agents, Function<String, Set<String>> monitorsAt) {
    SortedMap<String, String> collectors = new TreeMap<>();
    for (AgentState agent : agents) {
      agent.taps().stream()
          .filter(tap -> agent.up() && tap.port().isEmpty())
          .filter(tap -> monitorsAt.apply(tap.switchName()).contains(agent.name()))
          .forEach(
              tap ->
                  collectors.merge(
                      tap.switchName(), agent.name(), (a, b) -> a.compareTo(b) < 0 ? a : b));
    }
    return new Traffic(vantage(plan), collectors);
  }

  /** Returns a plan with a monitor for each collector, and the rules for its copies. */
  static Plan placed(Plan plan, Traffic traffic, List<Rule> rules) {
    SortedMap<String, Monitor.Builder> monitors = new TreeMap<>();
    new TreeMap<>(traffic.collectors())
        .forEach(
            (name, host) ->
                monitors
                    .computeIfAbsent(
                        host, ignored -> Monitor.newBuilder().setId(host).setHost(host))
                    .addSwitches(name));
    Plan.Builder placed = plan.toBuilder().clearMonitors().clearRules().addAllRules(rules);
    monitors
        .values()
        .forEach(monitor -> placed.addMonitors(monitor.setPartition(placed.getMonitorsCount())));
    return placed.build();
  }

  /** Returns true if a plan's monitors are collectors. */
  static boolean has(Plan plan) {
    return plan.getMonitorsList().stream().anyMatch(monitor -> monitor.getSwitchesCount() > 0);
  }

  /** Returns the traffic that a plan from {@link #placed} collects. */
  static Traffic traffic(Plan plan) {
    SortedMap<String, String> collectors = new TreeMap<>();
    plan.getMonitorsList()
        .forEach(
            monitor ->
                monitor.getSwitchesList().forEach(name -> collectors.put(name, monitor.getHost())));
    return new Traffic(vantage(plan), collectors);
  }
}
