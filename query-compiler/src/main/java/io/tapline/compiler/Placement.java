package io.tapline.compiler;

import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Rule;
import java.util.List;

/**
 * Places a query's monitors and chooses the switches that mirror to them. A pure function: the same
 * match gives the same placement.
 */
@FunctionalInterface
public interface Placement {
  /**
   * Places one monitor on the control plane's own host, which sees the packets without mirroring.
   */
  Placement LOCAL =
      match ->
          new Placed(
              List.of(Monitor.newBuilder().setId("local-0").setPartition(0).build()), List.of());

  Placed place(Match match);

  /**
   * A query's monitors and mirror rules.
   *
   * @param monitors one or more monitors
   * @param rules mirror rules by switch; none for a local monitor
   */
  record Placed(List<Monitor> monitors, List<Rule> rules) {
    public Placed {
      monitors = List.copyOf(monitors);
      rules = List.copyOf(rules);
    }
  }
}
