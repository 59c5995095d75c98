package io.tapline.compiler;

import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Rule;
import java.util.List;

/**
 * Where a query's monitors go and which switches mirror to them. A function: the same match gives
 * the same places.
 */
@FunctionalInterface
public interface Placement {
  /**
   * One monitor on the control plane's own host, which sees packets without help from any switch.
   */
  Placement LOCAL =
      match ->
          new Placed(
              List.of(Monitor.newBuilder().setId("local-0").setPartition(0).build()), List.of());

  Placed place(Match match);

  /**
   * The outcome.
   *
   * @param monitors at least one
   * @param rules mirror rules by switch; none for a local monitor
   */
  record Placed(List<Monitor> monitors, List<Rule> rules) {
    public Placed {
      monitors = List.copyOf(monitors);
      rules = List.copyOf(rules);
    }
  }
}
