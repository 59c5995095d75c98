package io.tapline.control.query.monitors;

import io.tapline.compiler.network.NetworkPlan;
import io.tapline.compiler.taps.KnownTaps;
import io.tapline.compiler.taps.PortNames;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.AgentState;
import io.tapline.control.registry.AgentTap;
import io.tapline.network.rules.MirrorPlanner;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Queue;
import io.tapline.schema.proto.Sampling;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The plans of a query's parts: the hosts that have a monitor, and the packets that each counts.
 */
public final class PartPlans {
  /**
   * Maximum number of queries per monitor, which marks each packet with a 64-bit set of queries
   * (monitors/plan/query_spec.h).
   */
  public static final int QUERIES_PER_MONITOR = 64;

  private PartPlans() {}

  /**
   * Returns the plan with a monitor for each host whose agent is up; each counts all packets of its
   * host.
   */
  public static Plan everywhere(Plan plan, AgentRegistry registry) {
    Plan.Builder placed = plan.toBuilder().clearMonitors();
    up(registry).forEach(host -> placed.addMonitors(part(host, placed.getMonitorsCount())));
    return placed.build();
  }

  /**
   * Returns the plan with a monitor for each host that measures some of its queues: the one to
   * which switches copy a queue, or else the first one, by name, whose taps show both sides. Queues
   * without such a host are assigned to the first host, whose monitor reports the missing taps.
   */
  public static Plan atQueues(Plan plan, AgentRegistry registry, PortNames ports) {
    Plan.Builder placed = plan.toBuilder().clearMonitors();
    byHost(plan, registry, ports)
        .keySet()
        .forEach(host -> placed.addMonitors(part(host, placed.getMonitorsCount())));
    return placed.build();
  }

  private static Map<String, List<Queue>> byHost(
      Plan plan, AgentRegistry registry, PortNames ports) {
    SortedMap<String, List<String>> taps = new TreeMap<>();
    registry.states().stream()
        .filter(AgentState::up)
        .forEach(
            agent -> taps.put(agent.name(), agent.taps().stream().map(AgentTap::place).toList()));
    return byHost(plan.getQueuesList(), taps, ports);
  }

  /**
   * Returns the queues that each host measures, named as in its taps.
   *
   * @param taps locations of the monitors' taps, by host
   */
  static Map<String, List<Queue>> byHost(
      List<Queue> all, SortedMap<String, List<String>> taps, PortNames ports) {
    Map<String, List<Queue>> queues = new TreeMap<>();
    for (Queue queue : all) {
      if (queue.getMark() != 0) {
        queues.computeIfAbsent(queue.getHost(), ignored -> new ArrayList<>()).add(queue);
        continue;
      }
      Optional<String> host =
          taps.keySet().stream()
              .filter(tap -> tapped(queue, taps.get(tap), ports).isPresent())
              .findFirst();
      host.or(() -> taps.keySet().stream().findFirst())
          .ifPresent(
              monitor ->
                  queues
                      .computeIfAbsent(monitor, ignored -> new ArrayList<>())
                      .add(tapped(queue, taps.get(monitor), ports).orElse(queue)));
    }
    return queues;
  }

  /** Returns a queue with its name in these taps; empty if they do not show both of its sides. */
  private static Optional<Queue> tapped(Queue queue, List<String> taps, PortNames ports) {
    String wanted = queue.getSwitchName() + ":" + queue.getPort();
    return KnownTaps.queuesOf(taps)
        .filter(own -> ports.place(own).equals(wanted))
        .map(own -> own.split(":", -1))
        .map(own -> Queue.newBuilder().setSwitchName(own[0]).setPort(own[1]).build())
        .findFirst();
  }

  /** Returns one plan per monitor of {@link #atQueues}, each with the queues that it measures. */
  public static List<Plan> queueParts(Plan plan, AgentRegistry registry, PortNames ports) {
    Map<String, List<Queue>> queues = byHost(plan, registry, ports);
    return parts(plan, Map.of()).stream()
        .map(
            part ->
                part.toBuilder()
                    .clearQueues()
                    .addAllQueues(
                        queues.getOrDefault(part.getMonitors(0).getHost(), plan.getQueuesList()))
                    .build())
        .toList();
  }

  /**
   * Returns the plan with one monitor: that of the first agent with room, or else the last one,
   * which will refuse the query. All agents capture on the same interface.
   */
  public static Plan local(Plan plan, AgentRegistry registry) {
    List<AgentState> agents = registry.states();
    String agent =
        agents.stream()
            .filter(part -> part.queries().size() < QUERIES_PER_MONITOR)
            .findFirst()
            .orElse(agents.get(agents.size() - 1))
            .name();
    return plan.toBuilder().clearMonitors().addMonitors(part(agent, 0)).build();
  }

  /** Returns the plan with a monitor for each host that receives mirrored packets. */
  public static Plan placed(Plan plan, NetworkPlan network) {
    Plan.Builder placed = plan.toBuilder().clearMonitors();
    placed.clearRules().addAllRules(network.placed().rules());
    if (plan.getSampling().getMode() == Sampling.Mode.AUTO) {
      placed.getSamplingBuilder().setByPort(MirrorPlanner.canBeNarrowed(plan.getMatch()));
    }
    network
        .parts()
        .keySet()
        .forEach(host -> placed.addMonitors(part(host, placed.getMonitorsCount())));
    return placed.build();
  }

  private static Monitor part(String host, int partition) {
    return Monitor.newBuilder().setId(host).setHost(host).setPartition(partition).build();
  }

  /**
   * Returns one plan per monitor of a plan.
   *
   * @param matches packets that a monitor counts, by host; missing hosts count the whole match
   */
  public static List<Plan> parts(Plan plan, Map<String, Match> matches) {
    long packets = Integer.toUnsignedLong(plan.getLimit().getPackets());
    List<Long> shares = PacketPool.shares(packets, plan.getMonitorsCount());
    List<Plan> parts = new ArrayList<>();
    for (Monitor part : plan.getMonitorsList()) {
      Plan.Builder partPlan = plan.toBuilder().clearStream().clearMonitors().addMonitors(part);
      partPlan.setMatch(matches.getOrDefault(part.getHost(), plan.getMatch()));
      if (packets > 0) {
        partPlan.getLimitBuilder().setLeased(true).setPackets(shares.get(parts.size()).intValue());
      }
      parts.add(partPlan.build());
    }
    return parts;
  }

  /** Returns the plan's queues for which no agent has taps on both sides. */
  public static List<Queue> untapped(Plan plan, AgentRegistry registry, PortNames ports) {
    List<List<String>> taps =
        registry.states().stream()
            .filter(AgentState::up)
            .map(agent -> agent.taps().stream().map(AgentTap::place).toList())
            .toList();
    return plan.getQueuesList().stream()
        .filter(queue -> taps.stream().noneMatch(own -> tapped(queue, own, ports).isPresent()))
        .toList();
  }

  /** Returns the hosts whose agents have a lease. */
  public static Set<String> up(AgentRegistry registry) {
    Set<String> hosts = new TreeSet<>();
    registry.states().stream().filter(AgentState::up).forEach(agent -> hosts.add(agent.name()));
    return hosts;
  }
}
