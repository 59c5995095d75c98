package io.tapline.sdn.flow;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A flow in a table of a switch.
 *
 * @param next table in which the packet continues; {@link #NO_TABLE} for none
 * @param cookie identifies the owner: {@link Cookie}
 */
public record Flow(
    int table, int priority, FlowMatch match, List<FlowAction> actions, int next, long cookie) {
  public static final int NO_TABLE = -1;

  public Flow {
    actions = List.copyOf(actions);
  }

  public FlowKey key() {
    return new FlowKey(table, priority, match);
  }

  /** Returns true if both flows have the same effect on the packets that they match. */
  public boolean hasSameEffect(Flow other) {
    return actions.equals(other.actions) && next == other.next;
  }

  /** Returns the flow in the syntax of ovs-ofctl. */
  @Override
  public String toString() {
    String text = match.toString();
    return "table=%d,priority=%d,cookie=0x%x%s,actions=%s"
        .formatted(table, priority, cookie, text.isEmpty() ? "" : "," + text, does());
  }

  private String does() {
    Stream<String> resumed = next == NO_TABLE ? Stream.empty() : Stream.of("goto_table:" + next);
    String does =
        Stream.concat(actions.stream().map(FlowAction::toString), resumed)
            .collect(Collectors.joining(","));
    return does.isEmpty() ? "drop" : does;
  }
}
