package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.OptionalLong;

/**
 * A window in which the condition of a trigger on {@code link_load} was true (Planck section 3.3).
 *
 * @param query ID of the query; empty if the caller may only see its own flows
 * @param processor index of the trigger in PROCESS
 * @param port empty if the tap shows all ports of the switch as one
 * @param side {@code arrivals} or {@code departures}; empty if the tap does not specify it
 * @param neighbour the switch or host at the other end; empty if unknown
 * @param seenNs time at which the monitor found the condition true, by the monitor's clock
 * @param fields fields of the parser {@code trigger}
 * @param tuple the tuple of {@code link_load} that decided the condition; missing if there is none
 * @param flows the largest flows in the tuple; empty if the query asks for none
 * @param leftOut number of further flows; empty if unknown
 */
public record LinkEvent(
    String query,
    int processor,
    String switchName,
    String port,
    String side,
    String neighbour,
    long seenNs,
    JsonNode fields,
    JsonNode tuple,
    List<LinkFlow> flows,
    OptionalLong leftOut) {
  public LinkEvent {
    flows = List.copyOf(flows);
  }

  /** Returns the packet time at which the condition was decided. */
  public long timeNs() {
    return fields.path("ready_ns").asLong();
  }

  /**
   * Returns the event with only these flows and without the query, for a caller that may not see
   * it.
   */
  LinkEvent restrictedTo(List<LinkFlow> own) {
    return new LinkEvent(
        "",
        processor,
        switchName,
        port,
        side,
        neighbour,
        seenNs,
        fields,
        tuple,
        own,
        OptionalLong.empty());
  }
}
