package io.tapline.flink.panes;

import io.tapline.aggregates.Value;
import io.tapline.aggregates.Wire;
import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.group.Exemplars;
import io.tapline.flink.group.GroupTable;
import io.tapline.flink.results.ResultRow;
import io.tapline.flink.results.ResultRow.Change;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;

/**
 * The groups of one bucket that a trigger watches.
 *
 * <pre>
 *   quiet    ──▶ pending    the condition holds
 *   pending  ──▶ quiet      it does not hold
 *   pending  ──▶ on alert   raised: it held in `after` windows in a row, outside the cooldown
 *   on alert ──▶ quiet      cleared: the condition under which it lasts does not hold
 * </pre>
 *
 * <p>The condition is false for a group without tuples or without a value. A window that was only
 * partly watched begins no alert that missing tuples could have caused, such as on {@code <}. Only
 * groups that are not quiet, or are still in their cooldown, take memory. Not thread-safe.
 */
final class Alerts {
  private static final class WatchedGroup {
    private int inARow;
    private boolean onAlert;
    private long sinceNs = Long.MIN_VALUE;
  }

  private final ProcessorSpec spec;
  private final AlertCondition condition;
  private final int max;
  private final Map<ByteBuffer, WatchedGroup> groups = new HashMap<>();

  /**
   * Creates an instance without watched groups.
   *
   * @param max maximum number of watched groups; no alerts begin for further groups
   */
  Alerts(ProcessorSpec spec, int max) {
    this.spec = spec;
    this.condition = new AlertCondition(spec);
    this.max = max;
  }

  /** Returns true if a window without tuples would change the state of any group. */
  boolean any() {
    return groups.values().stream().anyMatch(group -> group.onAlert || group.inARow > 0);
  }

  /**
   * Returns the alerts that begin or end with a window, in no particular order.
   *
   * @param sums the groups' sums: the processor's own, then those of its operands
   * @param partial whether part of the window was not watched
   */
  List<ResultRow> changes(
      List<GroupTable> sums,
      NavigableMap<Long, GroupTable> panes,
      long startNs,
      long endNs,
      boolean partial) {
    boolean mayBegin = !partial || !condition.wantsAll();
    List<ResultRow> changes = new ArrayList<>();
    Set<WatchedGroup> seen = new HashSet<>();
    GroupTable window = sums.get(0);
    AlertCondition.Window tested = condition.new Window(sums, endNs - startNs);
    for (int entry = 0; entry < window.size(); entry++) {
      if (!window.isEmpty(entry)) {
        AlertCondition.Outcome outcome = tested.of(entry);
        look(window.key(entry), window.hash(entry), outcome, panes, endNs, mayBegin, seen, changes);
      }
    }
    endUnseen(seen, endNs, changes);
    return changes;
  }

  private void look(
      byte[] key,
      long hash,
      AlertCondition.Outcome outcome,
      NavigableMap<Long, GroupTable> panes,
      long endNs,
      boolean mayBegin,
      Set<WatchedGroup> seen,
      List<ResultRow> changes) {
    boolean holds = mayBegin && outcome.begins();
    if (!holds && groups.isEmpty()) {
      return;
    }
    WatchedGroup group = groups.get(ByteBuffer.wrap(key));
    if (group != null && group.onAlert) {
      if (outcome.lasts()) {
        seen.add(group);
      } else {
        changes.add(end(key, group, outcome.value(), Rows.exemplars(panes, key, hash)));
      }
      return;
    }
    if (!holds) {
      return;
    }
    if (group == null) {
      if (groups.size() >= max) {
        return;
      }
      group = new WatchedGroup();
      groups.put(ByteBuffer.wrap(key), group);
    }
    seen.add(group);
    group.inARow++;
    if (group.inARow >= spec.trigger().after() && !cooling(group, endNs)) {
      group.onAlert = true;
      group.sinceNs = endNs;
      Exemplars flows = Rows.exemplars(panes, key, hash);
      changes.add(ResultRow.alert(key, outcome.value(), flows, new Change(true, endNs)));
    }
  }

  private boolean cooling(WatchedGroup group, long endNs) {
    return group.sinceNs != Long.MIN_VALUE && endNs - group.sinceNs < spec.trigger().cooldownNs();
  }

  private ResultRow end(byte[] key, WatchedGroup group, Value value, Exemplars flows) {
    group.onAlert = false;
    group.inARow = 0;
    return ResultRow.alert(key, value, flows, new Change(false, group.sinceNs));
  }

  private void endUnseen(Set<WatchedGroup> seen, long endNs, List<ResultRow> changes) {
    groups
        .entrySet()
        .removeIf(
            entry -> {
              WatchedGroup group = entry.getValue();
              if (seen.contains(group)) {
                return false;
              }
              if (group.onAlert) {
                changes.add(end(entry.getKey().array(), group, Value.NONE, new Exemplars()));
              }
              group.inARow = 0;
              return !cooling(group, endNs);
            });
  }

  void write(DataOutput out) throws IOException {
    Wire.writeUnsigned(out, groups.size());
    for (var entry : groups.entrySet()) {
      Wire.writeBytes(out, entry.getKey().array());
      Wire.writeUnsigned(out, entry.getValue().inARow);
      out.writeBoolean(entry.getValue().onAlert);
      out.writeLong(entry.getValue().sinceNs);
    }
  }

  void read(DataInput in) throws IOException {
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      byte[] key = Wire.readBytes(in);
      WatchedGroup group = new WatchedGroup();
      group.inARow = (int) Wire.readUnsigned(in);
      group.onAlert = in.readBoolean();
      group.sinceNs = in.readLong();
      groups.put(ByteBuffer.wrap(key), group);
    }
  }
}
