package io.tapline.control.rest.nodes;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.tapline.control.access.Role;
import io.tapline.control.accounting.MirrorAccounting;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.DrillService.NodeState;
import io.tapline.control.registry.AgentState;
import io.tapline.control.registry.AgentTap;
import io.tapline.control.rest.http.Json;
import io.tapline.control.rest.http.Route;
import io.tapline.schema.rpc.NodeCounters;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** {@code /api/v1/nodes}: the components on the hosts, and their state. */
public final class NodeRoutes {
  private final DrillService drill;
  private final Supplier<List<AgentState>> agents;
  private final MirrorAccounting mirrored;

  public NodeRoutes(
      DrillService drill, Supplier<List<AgentState>> agents, MirrorAccounting mirrored) {
    this.drill = drill;
    this.agents = agents;
    this.mirrored = mirrored;
  }

  public List<Route> routes() {
    return List.of(nodesRoute());
  }

  private Route nodesRoute() {
    return Route.get("/api/v1/nodes", "listNodes")
        .needs(Role.ADMIN)
        .summary(
            "The hosts: MultiLog nodes with the headers that they have kept and lost, and agents with their leases.")
        .answers(200, "NodeList", "Nodes and agents.")
        .to(this::nodes);
  }

  private void nodes(Context ctx) {
    ObjectNode json = Json.object();
    ArrayNode nodes = json.putArray("nodes");
    for (NodeState state : drill.states()) {
      ObjectNode node = nodes.addObject();
      node.put("node", state.address().name());
      node.put("address", state.address().target());
      node.put("state", state.description() == null ? "unreachable" : "up");
      if (state.description() == null) {
        node.put("error", state.error());
        continue;
      }
      NodeCounters counters = state.description().getCounters();
      node.put("packets", counters.getPackets());
      node.put("rows", counters.getRows());
      ObjectNode dropped = node.putObject("dropped");
      counters.getDroppedMap().forEach(dropped::put);
      node.put("removed", counters.getRemoved());
      node.put("memory_bytes", counters.getMemoryBytes());
    }
    ArrayNode knownNode = json.putArray("agents");
    Map<String, MirrorAccounting.Copies> copies = mirrored.copies();
    agents.get().forEach(agent -> knownNode.add(agent(agent, copies.get(agent.name()))));
    Json.answer(ctx, 200, json);
  }

  /**
   * Returns an agent as JSON.
   *
   * @param copies packets mirrored to the host; null if they are not counted
   */
  private static ObjectNode agent(AgentState state, MirrorAccounting.Copies copies) {
    ObjectNode agent = Json.object();
    agent.put("agent", state.name());
    agent.put("state", state.up() ? "up" : "lost");
    agent.put("since_ns", state.sinceNs());
    agent.put("version", state.version());
    agent.put("interface", state.networkInterface());
    ArrayNode taps = agent.putArray("taps");
    state.taps().forEach(tap -> taps.add(tap(tap)));
    agent.put("capacity_mbps", state.capacityMbps());
    agent.put("load", state.load());
    agent.put("cores", state.cores());
    agent.put("monitor_starts", state.monitorStarts());
    if (state.clock() != null) {
      agent.put("clock_offset_ns", state.clock().offsetNs());
      agent.put("clock_error_ns", state.clock().errorNs());
    }
    agent.put("multilog", state.multilog());
    agent.set("parsers", Json.strings(state.parsers()));
    agent.set("queries", Json.strings(state.queries()));
    if (copies != null) {
      ObjectNode mirrored = agent.putObject("mirrored");
      mirrored.put("copied", copies.copied());
      mirrored.put("received", copies.received());
      mirrored.put("lost", copies.lost());
    }
    return agent;
  }

  /** Returns a tap as JSON; omits the port and the side if they are empty. */
  private static ObjectNode tap(AgentTap tap) {
    ObjectNode json = Json.object();
    json.put("switch", tap.switchName());
    if (!tap.port().isEmpty()) {
      json.put("port", tap.port());
    }
    if (!tap.side().isEmpty()) {
      json.put("side", tap.side());
    }
    json.put("interface", tap.networkInterface());
    return json;
  }
}
