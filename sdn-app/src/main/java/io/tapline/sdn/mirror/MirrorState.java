package io.tapline.sdn.mirror;

import io.tapline.compiler.rules.RuleTable;
import java.util.Map;

/**
 * What a network shall mirror: all of it, not a change.
 *
 * @param tables by name of the switch; no rules where there is none
 * @param monitors by ID, the name of the host that each is on
 */
public record MirrorState(Map<String, RuleTable> tables, Map<String, String> monitors) {
  public static final MirrorState NOTHING = new MirrorState(Map.of(), Map.of());

  public MirrorState {
    tables = Map.copyOf(tables);
    monitors = Map.copyOf(monitors);
  }
}
