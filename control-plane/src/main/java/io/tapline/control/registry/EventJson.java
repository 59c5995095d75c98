package io.tapline.control.registry;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import io.tapline.schema.rpc.MonitorStatus;

/**
 * Reads the events of protocol-0 agents: JSON objects that name the event and contain the fields of
 * its message (schema/monitor.proto).
 */
final class EventJson {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private EventJson() {}

  /**
   * Returns the status's event, parsed from JSON, with the same epoch; no event is set if the JSON
   * is invalid or this version does not know the kind of event.
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
