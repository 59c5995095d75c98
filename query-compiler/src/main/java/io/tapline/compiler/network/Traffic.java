package io.tapline.compiler.network;

import java.util.Map;

/**
 * The traffic that switches copy for a query that must see all of it, such as {@code PARSE
 * link_load}.
 *
 * @param vantage packets that each switch copies
 * @param collectors name of the host that receives a switch's copies, by the switch's name
 */
public record Traffic(Vantage vantage, Map<String, String> collectors) {
  /** Name of the parser argument that selects the vantage. */
  public static final String ARGUMENT = "vantage";

  /** Packets that a switch copies. */
  public enum Vantage {
    /** Packets that enter from hosts, so that only one switch copies each packet. */
    EDGE,
    /** All packets that the switch forwards. */
    ALL
  }

  public Traffic {
    collectors = Map.copyOf(collectors);
  }
}
