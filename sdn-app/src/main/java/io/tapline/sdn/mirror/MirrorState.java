package io.tapline.sdn.mirror;

import io.tapline.network.rules.RuleTable;
import java.util.Map;

/**
 * The complete mirroring that a network should do, as opposed to a change.
 *
 * @param tables tables by name of the switch; an absent switch has no rules
 * @param monitors name of each monitor's host, by the monitor's ID
 */
public record MirrorState(Map<String, RuleTable> tables, Map<String, String> monitors) {
  public static final MirrorState NOTHING = new MirrorState(Map.of(), Map.of());

  public MirrorState {
    tables = Map.copyOf(tables);
    monitors = Map.copyOf(monitors);
  }
}
