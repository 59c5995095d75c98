package io.tapline.sdn.mirror;

import io.tapline.network.rules.RuleTable;
import java.util.Map;

/**
 * Everything that a network should mirror, rather than a change.
 *
 * @param tables by name of the switch; a missing switch has no rules
 * @param monitors name of each monitor's host, by the monitor's ID
 */
public record MirrorState(Map<String, RuleTable> tables, Map<String, String> monitors) {
  public static final MirrorState NOTHING = new MirrorState(Map.of(), Map.of());

  public MirrorState {
    tables = Map.copyOf(tables);
    monitors = Map.copyOf(monitors);
  }
}
