package io.tapline.control.registry;

import io.tapline.schema.rpc.Tap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A tap of a switch that an agent's monitor listens on.
 *
 * @param port empty if unknown, or for all ports
 * @param side "arrivals" before the port's queue, "departures" after it; empty if unknown
 * @param networkInterface interface that receives the copies
 */
public record AgentTap(String switchName, String port, String side, String networkInterface) {
  static AgentTap of(Tap tap) {
    String side =
        switch (tap.getSide()) {
          case ARRIVALS -> "arrivals";
          case DEPARTURES -> "departures";
          default -> "";
        };
    return new AgentTap(tap.getSwitchName(), tap.getPort(), side, tap.getInterface());
  }

  /** Returns the location at which the copies are made: SWITCH[:PORT[:SIDE]]. */
  public String place() {
    return Stream.of(switchName, port, side)
        .filter(part -> !part.isEmpty())
        .collect(Collectors.joining(":"));
  }
}
