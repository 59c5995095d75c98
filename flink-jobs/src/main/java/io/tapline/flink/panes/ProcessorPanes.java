package io.tapline.flink.panes;

import io.tapline.aggregates.Wire;
import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.StateFormat;
import io.tapline.flink.accounting.Ledger;
import io.tapline.flink.group.GroupTable;
import io.tapline.flink.results.ResultRow;
import io.tapline.flink.results.WindowRows;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;

/**
 * The groups of one table of {@link QuerySpec#tables} in one bucket, by pane, and the sums of the
 * next window to close.
 *
 * <pre>
 *   panes     |  p  |     | p+2 | p+3 | p+4 |        panes with tuples
 *   window          [── size ─────────)              sum = sum + entering pane - leaving pane
 *   next                  [── size ─────────)        a slide later; skips gaps without tuples
 * </pre>
 *
 * <p>If panes can't be subtracted (extremes, distributions, reals, sampled tuples), each window is
 * summed from scratch. A window over the whole query only adds panes. Not thread-safe.
 */
final class ProcessorPanes {
  /** Key of the whole query's sums in the state; never the number of a pane. */
  static final long WHOLE = Long.MIN_VALUE;

  private final ProcessorSpec spec;
  private final List<ProcessorPanes> operands = new ArrayList<>();

  /** False for an operand whose field another value of the trigger also has. */
  private final boolean reportsTypes;

  private final int maxGroups;
  private final Rows rows;
  private final Alerts alerts;
  private final NavigableMap<Long, GroupTable> panes = new TreeMap<>();
  private final Set<Long> changed = new HashSet<>();
  private final Set<Long> removed = new HashSet<>();
  private GroupTable window;

  /** For each pane within the window, the window's entry for each entry of the pane. */
  private final Map<Long, int[]> places = new HashMap<>();

  private NavigableMap<Long, GroupTable> inWindow = new TreeMap<>();
  private long lastEndNs = Long.MIN_VALUE;
  private long firstPane = Long.MAX_VALUE;
  private boolean finished;
  private long groups;

  ProcessorPanes(ProcessorSpec spec, int maxGroups, int maxRows) {
    this(spec, maxGroups, maxRows, true);
  }

  private ProcessorPanes(ProcessorSpec spec, int maxGroups, int maxRows, boolean reportsTypes) {
    this.spec = spec;
    this.reportsTypes = reportsTypes;
    Set<String> fields = new HashSet<>(Set.of(spec.value().field()));
    for (ProcessorSpec operand : spec.operands()) {
      boolean isNew = fields.add(operand.value().field());
      operands.add(new ProcessorPanes(operand, maxGroups, maxRows, isNew));
    }
    this.maxGroups = maxGroups;
    this.rows = new Rows(spec, maxRows);
    this.alerts = spec.trigger() == null ? null : new Alerts(spec, maxGroups);
    this.window = table();
  }

  /**
   * Returns the panes of a trigger's operands. They have the same groups and windows, which close
   * with the trigger's.
   */
  List<ProcessorPanes> operands() {
    return operands;
  }

  /** Adds one part of a flush: pane, real, count and the groups. */
  void add(DataInput in, long watermarkNs, Ledger accounts) throws IOException {
    long pane = Wire.readSigned(in);
    boolean isReal = in.readBoolean();
    long count = Wire.readUnsigned(in);
    GroupTable knownTable = panes.get(pane);
    boolean isLate = (pane + 1) * spec.window().paneNs() <= watermarkNs;
    boolean mixed = knownTable != null && knownTable.real() != isReal;
    if (isLate || mixed) {
      long tuples = skip(in, isReal, count);
      // Late tuples are counted in the window that is open when they arrive, since the results of
      // their window have already been written.
      long timeNs = isLate ? watermarkNs : pane * spec.window().paneNs();
      var own = accounts.at(timeNs).processor(spec.index());
      own.addLate(isLate && !spec.isOperand() ? tuples : 0);
      own.drop("mixed_types", isLate || !reportsTypes ? 0 : tuples);
      return;
    }
    long overflow = merge(in, pane, isReal, count);
    // An operand's table has the same groups as its trigger's, where their tuples are counted.
    if (overflow > 0 && !spec.isOperand()) {
      accounts
          .at(pane * spec.window().paneNs())
          .processor(spec.index())
          .drop("key_overflow", overflow);
    }
  }

  private long skip(DataInput in, boolean isReal, long count) throws IOException {
    GroupTable scratch = table(isReal);
    long tuples = 0;
    for (long i = 0; i < count; i++) {
      tuples -= 1 + scratch.readEntry(in, false);
    }
    return tuples;
  }

  /** Merges groups into a pane; returns the number of tuples in groups that did not fit. */
  private long merge(DataInput in, long pane, boolean isReal, long count) throws IOException {
    GroupTable table = panes.computeIfAbsent(pane, index -> table(isReal));
    int previousSize = table.size();
    long overflow = 0;
    for (long i = 0; i < count; i++) {
      boolean hasRoom = groups + table.size() - previousSize < maxGroups;
      long entry = table.readEntry(in, hasRoom);
      overflow += entry < 0 ? -1 - entry : 0;
    }
    groups += table.size() - previousSize;
    changed.add(pane);
    return overflow;
  }

  private GroupTable table() {
    return spec.table();
  }

  private GroupTable table(boolean isReal) {
    GroupTable table = table();
    if (isReal) {
      table.holdReals();
    }
    return table;
  }

  /** Appends to {@code closed} the windows that have closed since the last call. */
  void advance(Progress progress, List<WindowRows> closed) {
    if (spec.window().isWholeQuery()) {
      advanceTotal(progress, closed);
    } else {
      advanceSliding(progress, closed);
    }
  }

  private void advanceSliding(Progress progress, List<WindowRows> closed) {
    long watermark = progress.watermarkNs();
    while (true) {
      long end = panes.isEmpty() ? Long.MAX_VALUE : nextEndNs();
      endAlertsBefore(end, progress, closed);
      if (panes.isEmpty() || end > watermark) {
        return;
      }
      slideTo(end);
      if (!inWindow.isEmpty() || alerts != null && alerts.any()) {
        close(end, progress, closed);
      }
    }
  }

  private void close(long endNs, Progress progress, List<WindowRows> closed) {
    long start = endNs - spec.window().sizeNs();
    if (alerts == null) {
      boolean partial = progress.isPartial(start, endNs);
      WindowRows rowsOfAll = rows.of(window, inWindow, start, endNs, partial);
      closed.add(rowsOfAll.without(progress.silentBefore(endNs)));
    } else {
      List<GroupTable> windows = new ArrayList<>(List.of(window));
      operands.forEach(operand -> windows.add(operand.window));
      report(windows, inWindow, endNs, progress, closed);
    }
  }

  /**
   * Appends to {@code closed} the alerts that begin or end with a window.
   *
   * @param sums the groups' sums: the processor's own, then those of its operands
   */
  private void report(
      List<GroupTable> sums,
      NavigableMap<Long, GroupTable> panes,
      long endNs,
      Progress progress,
      List<WindowRows> closed) {
    long start = endNs - spec.window().sizeNs();
    boolean partial = progress.isPartial(start, endNs);
    List<ResultRow> changes = alerts.changes(sums, panes, start, endNs, partial);
    if (!changes.isEmpty()) {
      closed.add(
          new WindowRows(spec.index(), start, endNs, partial, changes, 0)
              .without(progress.silentBefore(endNs)));
    }
  }

  /** Ends alerts in the first window without tuples, which would not be closed otherwise. */
  private void endAlertsBefore(long nextEndNs, Progress progress, List<WindowRows> closed) {
    long end = lastEndNs + spec.window().slideNs();
    if (alerts == null || !alerts.any() || end >= nextEndNs || end > progress.watermarkNs()) {
      return;
    }
    report(List.of(table()), new TreeMap<>(), end, progress, closed);
  }

  /**
   * Returns the end of the next window: the next multiple of the slide or, after a time without
   * tuples, the first multiple at which a window contains tuples again. REQUIRES: there is a pane.
   */
  private long nextEndNs() {
    long firstPaneEnd = (panes.firstKey() + 1) * spec.window().paneNs();
    long slideNs = spec.window().slideNs();
    long first = Math.floorDiv(firstPaneEnd + slideNs - 1, slideNs) * slideNs;
    return lastEndNs == Long.MIN_VALUE ? first : Math.max(first, lastEndNs + slideNs);
  }

  private void slideTo(long endNs) {
    long start = Math.floorDiv(endNs - spec.window().sizeNs(), spec.window().paneNs());
    long end = Math.floorDiv(endNs, spec.window().paneNs());
    NavigableMap<Long, GroupTable> now =
        new TreeMap<>(panes.headMap(end, false).tailMap(start, true));
    boolean slides =
        window.isSubtractable()
            && now.values().stream().noneMatch(pane -> pane.sampled() || pane.real());
    if (slides) {
      slideSums(now);
    } else {
      recomputeTotal(now);
    }
    inWindow = now;
    lastEndNs = endNs;
    operands.forEach(operand -> operand.slideTo(endNs));
    // Panes are dropped once no later window contains them.
    panes
        .headMap(
            Math.floorDiv(
                endNs + spec.window().slideNs() - spec.window().sizeNs(), spec.window().paneNs()),
            false)
        .entrySet()
        .removeIf(this::forget);
  }

  private boolean forget(Map.Entry<Long, GroupTable> pane) {
    groups -= pane.getValue().size();
    removed.add(pane.getKey());
    return true;
  }

  private void recomputeTotal(NavigableMap<Long, GroupTable> now) {
    window = table();
    places.clear();
    now.forEach((pane, table) -> places.put(pane, window.add(table)));
  }

  private void slideSums(NavigableMap<Long, GroupTable> now) {
    inWindow.forEach(
        (pane, table) -> {
          if (!now.containsKey(pane)) {
            window.subtract(table, places.remove(pane));
          }
        });
    boolean mostlyLeft = window.size() > 1024 && window.size() > 4 * groupsOf(now);
    if (now.isEmpty() || mostlyLeft) {
      recomputeTotal(now);
      return;
    }
    now.forEach(
        (pane, table) -> {
          if (!inWindow.containsKey(pane)) {
            places.put(pane, window.add(table));
          }
        });
  }

  private static long groupsOf(NavigableMap<Long, GroupTable> panes) {
    return panes.values().stream().mapToLong(GroupTable::size).sum();
  }

  /**
   * Emits a snapshot at each multiple of the slide at which the sums changed, and the result once
   * all monitors have ended.
   */
  private void advanceTotal(Progress progress, List<WindowRows> closed) {
    long observedNs = progress.allEnded() ? progress.lastMarkNs() : progress.watermarkNs();
    while (!panes.isEmpty() && (panes.firstKey() + 1) * spec.window().paneNs() <= observedNs) {
      long end = (panes.firstKey() + 1) * spec.window().paneNs();
      addFirstPaneToTotal();
      closed.add(whole(end, true).without(progress.silentBefore(end)));
    }
    if (progress.allEnded() && !finished) {
      while (!panes.isEmpty()) {
        addFirstPaneToTotal();
      }
      finished = true;
      if (window.size() > 0) {
        long end = progress.lastMarkNs() + 1;
        closed.add(whole(end, progress.wasInterrupted(end)).without(progress.silentBefore(end)));
      }
    }
  }

  private void addFirstPaneToTotal() {
    var first = panes.pollFirstEntry();
    firstPane = Math.min(firstPane, first.getKey());
    int previousSize = window.size();
    window.add(first.getValue());
    window.addExemplars(first.getValue());
    groups += window.size() - previousSize - first.getValue().size();
    removed.add(first.getKey());
    changed.add(WHOLE);
  }

  private WindowRows whole(long endNs, boolean partial) {
    NavigableMap<Long, GroupTable> all = new TreeMap<>();
    all.put(firstPane, window);
    return rows.of(window, all, firstPane * spec.window().paneNs(), endNs, partial);
  }

  /** Returns the panes dropped since the last call, to be removed from the state. */
  Set<Long> takeRemoved() {
    Set<Long> taken = Set.copyOf(removed);
    removed.clear();
    return taken;
  }

  /** Returns the panes changed since the last call, to be written to the state. */
  Set<Long> takeChanged() {
    changed.removeIf(pane -> pane != WHOLE && !panes.containsKey(pane));
    Set<Long> taken = Set.copyOf(changed);
    changed.clear();
    return taken;
  }

  void writeHeader(DataOutput out) throws IOException {
    out.writeLong(lastEndNs);
    out.writeLong(firstPane);
    out.writeBoolean(finished);
    if (alerts != null) {
      alerts.write(out);
    }
  }

  void readHeader(DataInput in) throws IOException {
    lastEndNs = in.readLong();
    firstPane = in.readLong();
    finished = in.readBoolean();
    if (alerts != null) {
      alerts.read(in);
    }
  }

  void writePane(DataOutput out, long pane) throws IOException {
    GroupTable table = pane == WHOLE ? window : panes.get(pane);
    StateFormat.write(out, spec.aggregate().type());
    out.writeBoolean(table.real());
    Wire.writeUnsigned(out, table.size());
    for (int entry = 0; entry < table.size(); entry++) {
      table.writeEntry(out, entry);
    }
  }

  void readPane(DataInput in, long pane) throws IOException {
    StateFormat.require(in, spec.aggregate().type());
    GroupTable table = table(in.readBoolean());
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      table.readEntry(in, true);
    }
    groups += table.size();
    // The sums of a sliding window are computed again from its panes when the next one closes.
    if (pane == WHOLE) {
      window = table;
    } else {
      panes.put(pane, table);
    }
  }
}
