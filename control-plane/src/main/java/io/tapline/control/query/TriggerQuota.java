package io.tapline.control.query;

import io.tapline.compiler.packets.TriggerCost;

/**
 * The share of a monitor that a tenant's triggers on packets may use.
 *
 * @param groups maximum number of groups that a query counts separately in a window
 * @param core maximum share of a core, beside parsing packets, which all queries share
 */
public record TriggerQuota(long groups, double core) {
  /** No limits except the monitor's own. */
  public static final TriggerQuota NONE =
      new TriggerQuota(TriggerCost.MAX_GROUPS, Double.POSITIVE_INFINITY);
}
