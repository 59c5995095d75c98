package io.tapline.control.diagnose;

import com.fasterxml.jackson.databind.JsonNode;

/** The packets that queue parsers count as one flow: their argument {@code flow}. */
public enum FlowUnit {
  FIVE_TUPLE,
  /** Packets from one address to another. */
  PAIR,
  /** Packets from any address to one. */
  DESTINATION;

  /** Stands for all sources in the notation of flows. */
  static final String ANY = "*";

  /** Returns the unit for a value of the argument; without one, five-tuples. */
  public static FlowUnit of(String value) {
    return switch (value) {
      case "pair" -> PAIR;
      case "destination" -> DESTINATION;
      default -> FIVE_TUPLE;
    };
  }

  /** Returns the sender of a flow in an event, in user-facing notation. */
  String source(JsonNode event) {
    return this == DESTINATION ? ANY : endpoint(event, fromClient(event) ? "src" : "dst");
  }

  /** Returns the receiver of a flow in an event, in user-facing notation. */
  String destination(JsonNode event) {
    return endpoint(event, fromClient(event) ? "dst" : "src");
  }

  /**
   * Returns the filter for the packets of the event's flow, in the direction in which they were
   * sent.
   */
  String filter(JsonNode event) {
    String sender = fromClient(event) ? "src" : "dst";
    String receiver = fromClient(event) ? "dst" : "src";
    String to = filter(event, "dst", receiver);
    return this == DESTINATION
        ? "(" + to + ")"
        : "(%s && %s)".formatted(filter(event, "src", sender), to);
  }

  /** Returns true if the client sent the flow's packets; an event's source is always the client. */
  private static boolean fromClient(JsonNode event) {
    return event.path("fields").path("from_client").asBoolean(true);
  }

  private String endpoint(JsonNode event, String side) {
    String address = address(event, side);
    return this == FIVE_TUPLE ? address + ":" + event.path(side + "_port").asInt() : address;
  }

  private static String address(JsonNode event, String side) {
    String address = event.path(side + "_ip").asText();
    return address.contains(":") ? "[" + address + "]" : address;
  }

  private String filter(JsonNode event, String side, String in) {
    String address = event.path(in + "_ip").asText();
    String host = "%s_ip%s == %s".formatted(side, address.contains(":") ? "6" : "", address);
    return this == FIVE_TUPLE
        ? "%s && %s_port == %d".formatted(host, side, event.path(in + "_port").asInt())
        : host;
  }
}
