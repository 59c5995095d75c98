package io.tapline.control.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;

/** One direction of a TCP connection over IPv4. */
public record FlowKey(String srcIp, int srcPort, String dstIp, int dstPort) {
  /** Fields that identify a flow, in the order that {@link #of(List)} expects. */
  static final List<String> FIELDS = List.of("src_ip", "src_port", "dst_ip", "dst_port");

  /**
   * Returns the flow of a group whose key is {@link #FIELDS}; null for the group of all remaining
   * flows.
   */
  static FlowKey of(List<String> group) {
    return group.size() < FIELDS.size()
        ? null
        : new FlowKey(
            group.get(0),
            Integer.parseInt(group.get(1)),
            group.get(2),
            Integer.parseInt(group.get(3)));
  }

  static FlowKey of(JsonNode row) {
    return new FlowKey(
        row.path("src_ip").asText(),
        row.path("src_port").asInt(),
        row.path("dst_ip").asText(),
        row.path("dst_port").asInt());
  }

  /** Returns the filter for the flow's packets. */
  String filter() {
    return "src_ip == %s && src_port == %d && dst_ip == %s && dst_port == %d"
        .formatted(srcIp, srcPort, dstIp, dstPort);
  }

  /** Returns the flow in user-facing notation. */
  public String text() {
    return srcIp + ":" + srcPort + " > " + dstIp + ":" + dstPort;
  }

  @Override
  public String toString() {
    return text();
  }
}
