package io.tapline.flink.results;

import io.tapline.aggregates.Wire;
import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.accounting.Accounts;
import io.tapline.flink.accounting.Ledger;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;

/**
 * The accounts of each window of one processor.
 *
 * <pre>
 *   panes     |  p  | p+1 | p+2 | p+3 | p+4 |      accounts of each, as reported
 *   window          [from ──────── to)             sum of its panes, which a slide updates
 * </pre>
 *
 * <p>Windows are requested in order of their ends. Events without a time count in the next window.
 * Not thread-safe.
 */
final class WindowAccounts {
  /** Reasons for losses of unknown size, which may include all of a window's tuples. */
  private static final Set<String> UNSEEN =
      Set.of("missing_batch", "monitor_replaced", "kernel_missed");

  private final ProcessorSpec spec;
  private final int processors;
  private final TreeMap<Long, Accounts> panes = new TreeMap<>();
  private Accounts undated;
  private Accounts window;
  private long from = Long.MIN_VALUE;
  private long to = Long.MIN_VALUE;

  WindowAccounts(ProcessorSpec spec, int processors) {
    this.spec = spec;
    this.processors = processors;
    this.undated = new Accounts(processors);
    this.window = new Accounts(processors);
  }

  void add(long timeNs, Accounts part) {
    if (timeNs == Ledger.UNDATED) {
      undated.add(part);
      return;
    }
    long pane = Math.max(from, spec.window().paneOf(timeNs));
    pane(pane).add(part);
    if (pane < to) {
      window.add(part);
    }
  }

  private Accounts pane(long pane) {
    return panes.computeIfAbsent(pane, index -> new Accounts(processors));
  }

  /**
   * Returns a copy of a window's accounts. REQUIRES: the window ends after all windows requested
   * earlier.
   */
  Accounts of(long startNs, long endNs) {
    long first = spec.window().paneOf(startNs);
    if (!undated.isEmpty()) {
      add(startNs, undated);
      undated = new Accounts(processors);
    }
    slide(first, spec.window().paneOf(endNs));
    Accounts copy = new Accounts(processors);
    copy.add(window);
    copy.setSamplingRate(lowestRate());
    return copy;
  }

  /**
   * Returns the end of the first window after the last requested one, up to {@code limitNs}, in
   * which tuples may have gone unseen. Always empty for whole-query windows and for triggers.
   */
  OptionalLong firstUnseenEnd(long limitNs) {
    if (spec.window().isWholeQuery() || spec.trigger() != null) {
      return OptionalLong.empty();
    }
    for (var entry : panes.entrySet()) {
      long end = firstEndOf(entry.getKey());
      boolean reached = end - spec.window().sizeNs() <= entry.getKey() * spec.window().paneNs();
      if (reached
          && UNSEEN.stream().anyMatch(reason -> entry.getValue().dropped().get(reason) > 0)) {
        return end <= limitNs ? OptionalLong.of(end) : OptionalLong.empty();
      }
    }
    return OptionalLong.empty();
  }

  /**
   * Returns the end of the first window that can still be requested and does not end before the
   * pane.
   */
  private long firstEndOf(long pane) {
    long paneEnd = (pane + 1) * spec.window().paneNs();
    long end = -Math.floorDiv(-paneEnd, spec.window().slideNs()) * spec.window().slideNs();
    return to == Long.MIN_VALUE
        ? end
        : Math.max(end, to * spec.window().paneNs() + spec.window().slideNs());
  }

  private void slide(long newFrom, long newTo) {
    Map<Long, Accounts> leaving = panes.headMap(newFrom, false);
    boolean anew = window.mayHaveFolded() || newFrom >= to;
    if (!anew) {
      panes.subMap(from, true, newFrom, false).values().forEach(window::subtract);
      panes.subMap(to, true, newTo, false).values().forEach(window::add);
    }
    leaving.clear();
    from = newFrom;
    to = newTo;
    if (anew) {
      recomputeTotal();
    }
  }

  private void recomputeTotal() {
    window = new Accounts(processors);
    panes.headMap(to, false).values().forEach(window::add);
  }

  private double lowestRate() {
    return panes.headMap(to, false).values().stream()
        .mapToDouble(Accounts::samplingRate)
        .min()
        .orElse(1);
  }

  void write(DataOutput out) throws IOException {
    out.writeLong(from);
    out.writeLong(to);
    undated.write(out);
    Wire.writeUnsigned(out, panes.size());
    for (Map.Entry<Long, Accounts> pane : panes.entrySet()) {
      out.writeLong(pane.getKey());
      pane.getValue().write(out);
    }
  }

  void read(DataInput in) throws IOException {
    from = in.readLong();
    to = in.readLong();
    undated = Accounts.read(in, processors);
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      panes.put(in.readLong(), Accounts.read(in, processors));
    }
    recomputeTotal();
  }
}
