package io.tapline.control.drill;

import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.MoreExecutors;
import io.tapline.schema.rpc.AggregateReply;
import io.tapline.schema.rpc.AggregateRequest;
import io.tapline.schema.rpc.NodeAlert;
import io.tapline.schema.rpc.NodeNumber;
import io.tapline.schema.rpc.QueryRequest;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * Watches whose condition applies to the sum over all nodes. A node reports a window in which it
 * exceeds its share. All nodes are then asked for their values in that window, immediately and
 * again after its end, since other nodes' values may grow until then. Thread-safe.
 */
final class CombinedWatches {
  /** Maximum number of windows that are examined at a time; more are counted and skipped. */
  private static final int MAX_WINDOWS = 1_000;

  /** Maximum number of groups whose last alert is remembered. */
  private static final int MAX_GROUPS = 10_000;

  /** Time after a window's end until nodes have all of its headers. */
  private static final long SETTLE_NS = 200_000_000;

  /** A window of a group. */
  private record Window(String watch, List<String> group, long beginNs, long endNs) {
    /** Returns an ID that does not depend on the node that reports the window. */
    String id() {
      return "%s-together-%s-%d"
          .formatted(watch, Integer.toHexString(String.join(" ", group).hashCode()), endNs);
    }
  }

  private record Group(String watch, List<String> keys) {}

  /** Receives the results. */
  interface Finding {
    /**
     * Receives an alert.
     *
     * @param found alert with the sum
     * @param parts each node's share of the sum
     * @param missing nodes that did not answer
     */
    void take(WatchService.Finding found, Map<String, Long> parts, List<String> missing);
  }

  private final Finding finding;
  private final Map<String, Set<Window>> looking = new HashMap<>();
  private final Map<String, Long> leftOut = new HashMap<>();
  private final Map<Group, Long> lastEndNs =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Group, Long> eldest) {
          return size() > MAX_GROUPS;
        }
      };

  CombinedWatches(Finding finding) {
    this.finding = finding;
  }

  /** Handles the report of a node that exceeds its share. */
  void reported(WatchSpec spec, WatchService.Finding found, Collection<NodeClient> nodes) {
    NodeAlert report = found.alert();
    Window window =
        new Window(
            report.getTrigger(),
            List.copyOf(report.getGroupList()),
            report.getWindowBeginNs(),
            report.getWindowEndNs());
    boolean isFirst;
    synchronized (this) {
      Set<Window> ofWatch = looking.computeIfAbsent(window.watch(), name -> new HashSet<>());
      isFirst = !ofWatch.contains(window);
      if (isFirst && ofWatch.size() == MAX_WINDOWS) {
        leftOut.merge(window.watch(), 1L, Long::sum);
        return;
      }
      ofWatch.add(window);
    }
    query(spec, window, found, nodes);
    if (isFirst) {
      Executor later =
          CompletableFuture.delayedExecutor(spec.windowNs() + SETTLE_NS, TimeUnit.NANOSECONDS);
      later.execute(() -> queryFinal(spec, window, found, nodes));
    }
  }

  private void queryFinal(
      WatchSpec spec, Window window, WatchService.Finding found, Collection<NodeClient> nodes) {
    query(spec, window, found, nodes)
        .addListener(() -> forget(window), MoreExecutors.directExecutor());
  }

  private synchronized void forget(Window window) {
    Set<Window> ofWatch = looking.getOrDefault(window.watch(), new HashSet<>());
    ofWatch.remove(window);
    if (ofWatch.isEmpty()) {
      looking.remove(window.watch());
    }
  }

  /** Removes the count of a watch that has ended. */
  synchronized void forget(String watch) {
    leftOut.remove(watch);
  }

  private ListenableFuture<?> query(
      WatchSpec spec, Window window, WatchService.Finding found, Collection<NodeClient> nodes) {
    AggregateRequest request =
        AggregateRequest.newBuilder()
            .setStored(window.watch())
            .setQuery(
                QueryRequest.newBuilder()
                    .setTimeLowNs(window.beginNs())
                    .setTimeHighNs(window.endNs() - 1))
            .build();
    List<String> names = new ArrayList<>();
    List<ListenableFuture<AggregateReply>> replies = new ArrayList<>();
    for (NodeClient node : nodes) {
      names.add(node.name());
      replies.add(node.aggregate(request, Snapshots.TIMEOUT));
    }
    ListenableFuture<List<AggregateReply>> all = Futures.successfulAsList(replies);
    return Futures.transform(
        all,
        responses -> {
          judge(spec, window, found, names, responses);
          return null;
        },
        MoreExecutors.directExecutor());
  }

  private void judge(
      WatchSpec spec,
      Window window,
      WatchService.Finding found,
      List<String> names,
      List<AggregateReply> responses) {
    Map<String, Long> parts = new TreeMap<>();
    List<String> missing = new ArrayList<>();
    for (int i = 0; i < names.size(); i++) {
      if (responses.get(i) == null) {
        missing.add(names.get(i));
      } else {
        parts.put(names.get(i), value(responses.get(i), window.group()));
      }
    }
    long sum = parts.values().stream().mapToLong(part -> part).sum();
    if (spec.threshold().holds(sum) && isNew(spec, window)) {
      NodeAlert alert =
          found.alert().toBuilder()
              .clearValues()
              .addValues(NodeNumber.newBuilder().setWhole(sum))
              .build();
      finding.take(new WatchService.Finding(window.id(), alert, found.replayed()), parts, missing);
    }
  }

  private static long value(AggregateReply reply, List<String> group) {
    if (group.isEmpty()) {
      return reply.getValuesCount() == 0 ? 0 : reply.getValues(0).getWhole();
    }
    return reply.getGroupsList().stream()
        .filter(part -> !part.getRest() && part.getKeysList().equals(group))
        .mapToLong(part -> part.getValues(0).getWhole())
        .sum();
  }

  /**
   * Returns true if a window is the first of an event, and remembers it. Windows that end less than
   * one window length from an alerting one belong to the same event.
   */
  private synchronized boolean isNew(WatchSpec spec, Window window) {
    Group group = new Group(window.watch(), window.group());
    Long last = lastEndNs.get(group);
    if (last != null && Math.abs(window.endNs() - last) < spec.windowNs()) {
      return false;
    }
    lastEndNs.put(group, window.endNs());
    return true;
  }

  /**
   * Returns the number of reports for a watch that were skipped because there were too many at
   * once.
   */
  synchronized long leftOut(String watch) {
    return leftOut.getOrDefault(watch, 0L);
  }

  /** Returns the number of windows that will be examined again. */
  synchronized int pending() {
    return looking.values().stream().mapToInt(Set::size).sum();
  }
}
