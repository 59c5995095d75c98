package io.tapline.control.watches;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.drill.MonitorWatches;
import io.tapline.control.drill.WatchSpec;
import io.tapline.schema.rpc.NodeAlert;
import io.tapline.schema.rpc.NodeNumber;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Turns events of the parser {@code trigger} into alerts of a watch. */
final class TriggerAlerts {
  private static final String PARSER = "trigger";

  private final String name;
  private final WatchSpec watch;
  private final MonitorWatches.Listener listener;

  TriggerAlerts(String name, WatchSpec watch, MonitorWatches.Listener listener) {
    this.name = name;
    this.watch = watch;
    this.listener = listener;
  }

  /** Reports an event as an alert; ignores events of other parsers. */
  void take(JsonNode event, String id, String monitor, boolean replayed) {
    if (event.path("parser").asText().equals(PARSER)) {
      listener.alert(alert(event), id, monitor, replayed);
    }
  }

  private NodeAlert alert(JsonNode event) {
    JsonNode fields = event.path("fields");
    NodeAlert.Builder alert =
        NodeAlert.newBuilder()
            .setTrigger(name)
            .setSeverity(watch.severity())
            .setWindowBeginNs(fields.path("window_start_ns").asLong())
            .setWindowEndNs(fields.path("window_end_ns").asLong())
            .setFoundNs(event.path("made_ns").asLong())
            .setReadyNs(fields.path("ready_ns").asLong())
            .setScope(fields.path("scope").asText())
            .setUncertain(!fields.path("certain").asBoolean())
            .setIncomplete(fields.path("incomplete").asBoolean());
    if (fields.path("lost_packets").isNumber()) {
      alert.setLostPackets(fields.path("lost_packets").asLong());
    }
    addValue(fields, alert);
    if (fields.path("group").isTextual()) {
      addGroup(fields.path("group").asText(), alert);
    }
    if (fields.path("exemplars").isTextual()) {
      alert.addAllExemplars(List.of(fields.path("exemplars").asText().split(" ")));
    }
    return alert.build();
  }

  private static void addValue(JsonNode fields, NodeAlert.Builder alert) {
    if (fields.path("value").isNumber()) {
      alert.addValues(number(fields.path("value").asDouble()));
    }
    if (fields.path("low").isNumber()) {
      alert.setLow(fields.path("low").asDouble());
    }
    if (fields.path("high").isNumber()) {
      alert.setHigh(fields.path("high").asDouble());
    }
  }

  private static NodeNumber number(double value) {
    return value == Math.rint(value) && Math.abs(value) < Long.MAX_VALUE
        ? NodeNumber.newBuilder().setWhole((long) value).build()
        : NodeNumber.newBuilder().setReal(value).build();
  }

  /**
   * Adds the values of an event's group, such as "src_ip=10.1.2.0/24 dst_port=80". The value of
   * {@code flow} is the whole text.
   */
  private void addGroup(String text, NodeAlert.Builder alert) {
    Map<String, String> values = new HashMap<>();
    for (String name : text.split(" ")) {
      int equals = name.indexOf('=');
      if (equals > 0) {
        values.put(name.substring(0, equals), name.substring(equals + 1));
      }
    }
    for (String word : watch.aggregate().groupBy()) {
      alert.addGroup(values.getOrDefault(word.split("/")[0], text));
    }
  }
}
