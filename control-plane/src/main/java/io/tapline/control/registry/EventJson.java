package io.tapline.control.registry;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import io.tapline.schema.rpc.MonitorStatus;

/**
 * Reads the events of protocol-0 agents, which are lines of JSON: the event's name, then its
 * message's fields (schema/monitor.proto).
 */
final class EventJson {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private EventJson() {}

  /**
   * Returns the event with the status's epoch; without an event if this version does not know its
   * kind.
   */
  static MonitorStatus read(MonitorStatus status) {
    MonitorStatus.Builder event = MonitorStatus.newBuilder();
    try {
      if (MAPPER.readTree(status.getJson()) instanceof ObjectNode line && line.has("event")) {
        String name = line.remove("event").asText();
        String message = MAPPER.createObjectNode().set(name, line).toString();
        JsonFormat.parser().ignoringUnknownFields().merge(message, event);
      }
    } catch (JsonProcessingException | InvalidProtocolBufferException e) {
      event.clearEvent();
    }
    return event.setEpoch(status.getEpoch()).build();
  }
}
