package io.tapline.control.rest.system;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.tapline.control.access.Role;
import io.tapline.control.query.QueryService;
import io.tapline.control.rest.http.Json;
import io.tapline.control.rest.http.Route;
import io.tapline.network.Network;
import io.tapline.network.Topology;
import io.tapline.sdn.mirror.NetworkStatus;
import java.util.List;

/**
 * {@code /api/v1/topology}: the network in the inventory, and the controller's view of its
 * switches.
 */
public final class TopologyRoutes {
  private final QueryService queries;

  public TopologyRoutes(QueryService queries) {
    this.queries = queries;
  }

  public List<Route> routes() {
    return List.of(
        Route.get("/api/v1/topology", "getTopology")
            .needs(Role.ADMIN)
            .summary("The network in the inventory, and the controller's view of its switches.")
            .answers(200, "Topology", "The network; unknown parts are omitted.")
            .to(this::topology));
  }

  private void topology(Context ctx) {
    ObjectNode json = Json.object();
    queries.network().ifPresent(network -> json.set("network", inventory(network)));
    queries.switches().ifPresent(status -> add(status, json));
    Json.answer(ctx, 200, json);
  }

  private static ObjectNode inventory(Network network) {
    Topology topology = network.topology();
    ObjectNode json = Json.object().put("kind", topology.kind());
    ArrayNode hosts = json.putArray("hosts");
    for (int host = 0; host < topology.hostCount(); host++) {
      ObjectNode node = hosts.addObject();
      node.put("host", topology.host(host).name());
      node.put("edge_switch", topology.edgeName(topology.edgeOf(host)));
      ArrayNode addresses = node.putArray("addresses");
      network.addresses().get(host).forEach(prefix -> addresses.add(prefix.toString()));
    }
    return json;
  }

  private static ObjectNode counters(NetworkStatus.PortStatus port) {
    return Json.object()
        .put("port", port.port())
        .put("rx_packets", port.rxPackets())
        .put("tx_packets", port.txPackets())
        .put("rx_bytes", port.rxBytes())
        .put("tx_bytes", port.txBytes())
        .put("rx_dropped", port.rxDropped())
        .put("tx_dropped", port.txDropped());
  }

  private static void add(NetworkStatus status, ObjectNode json) {
    json.put("settled", status.settled());
    ObjectNode counters = json.putObject("counters");
    status.counters().forEach(counters::put);
    ArrayNode switches = json.putArray("switches");
    for (NetworkStatus.SwitchStatus sw : status.switches()) {
      ObjectNode node = switches.addObject();
      node.put("switch", sw.name()).put("datapath", sw.datapath());
      node.put("address", sw.address()).put("openflow", sw.version());
      node.put("ports", sw.ports());
      node.put("mirror_flows", sw.mirrorFlows());
      node.put("forwarding_flows", sw.forwardingFlows());
      node.put("mirrored_packets", sw.mirroredPackets());
      ArrayNode ports = node.putArray("port_counters");
      sw.portCounters().forEach(port -> ports.add(counters(port)));
    }
    ArrayNode links = json.putArray("links");
    status
        .cables()
        .forEach(link -> links.addObject().put("from", link.from()).put("to", link.to()));
    ArrayNode hosts = json.putArray("hosts");
    for (NetworkStatus.HostStatus host : status.hosts()) {
      ObjectNode node = hosts.addObject().put("mac", host.mac()).put("at", host.at());
      node.set("addresses", Json.strings(host.addresses()));
    }
  }
}
