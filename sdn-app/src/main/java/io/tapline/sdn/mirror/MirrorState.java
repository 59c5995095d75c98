package io.tapline.sdn.mirror;

import io.tapline.network.rules.RuleTable;
import java.util.Map;

/**
 * The complete wanted mirror state of a network, as opposed to a change.
 *
 * @param tables tables by switch name; an absent switch has no rules
 * @param monitors name of each monitor's host, by the monitor's ID
 * @param marks destination Ethernet addresses of copies, by the monitor's ID; copies for an absent
 *     monitor keep their addresses
 */
public record MirrorState(
    Map<String, RuleTable> tables, Map<String, String> monitors, Map<String, Long> marks) {
  public static final MirrorState NOTHING = new MirrorState(Map.of(), Map.of());

  public MirrorState {
    tables = Map.copyOf(tables);
    monitors = Map.copyOf(monitors);
    marks = Map.copyOf(marks);
  }

  /** Creates a state in which all copies keep their addresses. */
  public MirrorState(Map<String, RuleTable> tables, Map<String, String> monitors) {
    this(tables, monitors, Map.of());
  }
}
