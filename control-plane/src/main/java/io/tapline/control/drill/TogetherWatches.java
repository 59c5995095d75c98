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
 * Watches whose condition is about all nodes together. A node reports a window in which it is above
 * its share; then all are asked for theirs of that window, at once and again when it is over, since
 * others may get there later. Thread-safe.
 */
final class TogetherWatches {
  /** Windows of a watch that are being looked at; more are counted and left out. */
  private static final int MOST_WINDOWS = 1_000;

  /** Groups whose last alert is remembered. */
  private static final int MOST_GROUPS = 10_000;

  /** After a window's length a node has what belongs into it. */
  private static final long SETTLE_NS = 200_000_000;

  /** A window of a group. */
  private record Window(String watch, List<String> group, long beginNs, long endNs) {}

  private record Group(String watch, List<String> keys) {}

  /** Takes what was found. */
  interface Finding {
    /**
     * @param alert the sum
     * @param parts what each node has of it
     * @param missing nodes that did not answer
     */
    void take(NodeAlert alert, Map<String, Long> parts, List<String> missing);
  }

  private final Finding finding;
  private final Map<String, Set<Window>> looking = new HashMap<>();
  private final Map<String, Long> leftOut = new HashMap<>();
  private final Map<Group, Long> lastEndNs =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Group, Long> eldest) {
          return size() > MOST_GROUPS;
        }
      };

  TogetherWatches(Finding finding) {
    this.finding = finding;
  }

  /** A node is above its share. */
  void reported(WatchSpec spec, NodeAlert report, Collection<NodeClient> nodes) {
    Window window =
        new Window(
            report.getTrigger(),
            List.copyOf(report.getGroupList()),
            report.getWindowBeginNs(),
            report.getWindowEndNs());
    boolean first;
    synchronized (this) {
      Set<Window> ofWatch = looking.computeIfAbsent(window.watch(), name -> new HashSet<>());
      first = !ofWatch.contains(window);
      if (first && ofWatch.size() == MOST_WINDOWS) {
        leftOut.merge(window.watch(), 1L, Long::sum);
        return;
      }
      ofWatch.add(window);
    }
    ask(spec, window, report, nodes);
    if (first) {
      Executor later =
          CompletableFuture.delayedExecutor(spec.windowNs() + SETTLE_NS, TimeUnit.NANOSECONDS);
      later.execute(() -> askLast(spec, window, report, nodes));
    }
  }

  private void askLast(
      WatchSpec spec, Window window, NodeAlert report, Collection<NodeClient> nodes) {
    ask(spec, window, report, nodes)
        .addListener(() -> forget(window), MoreExecutors.directExecutor());
  }

  private synchronized void forget(Window window) {
    Set<Window> ofWatch = looking.getOrDefault(window.watch(), new HashSet<>());
    ofWatch.remove(window);
    if (ofWatch.isEmpty()) {
      looking.remove(window.watch());
    }
  }

  /** A watch has ended. */
  synchronized void forget(String watch) {
    leftOut.remove(watch);
  }

  private ListenableFuture<?> ask(
      WatchSpec spec, Window window, NodeAlert report, Collection<NodeClient> nodes) {
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
      replies.add(node.aggregate(request, Snapshots.PATIENCE));
    }
    ListenableFuture<List<AggregateReply>> all = Futures.successfulAsList(replies);
    return Futures.transform(
        all,
        answers -> {
          judge(spec, window, report, names, answers);
          return null;
        },
        MoreExecutors.directExecutor());
  }

  private void judge(
      WatchSpec spec,
      Window window,
      NodeAlert report,
      List<String> names,
      List<AggregateReply> answers) {
    Map<String, Long> parts = new TreeMap<>();
    List<String> missing = new ArrayList<>();
    for (int i = 0; i < names.size(); i++) {
      if (answers.get(i) == null) {
        missing.add(names.get(i));
      } else {
        parts.put(names.get(i), value(answers.get(i), window.group()));
      }
    }
    long sum = parts.values().stream().mapToLong(part -> part).sum();
    if (spec.threshold().holds(sum) && isNew(spec, window)) {
      NodeAlert alert =
          report.toBuilder().clearValues().addValues(NodeNumber.newBuilder().setWhole(sum)).build();
      finding.take(alert, parts, missing);
    }
  }

  private static long value(AggregateReply reply, List<String> group) {
    if (group.isEmpty()) {
      return reply.getValuesCount() == 0 ? 0 : reply.getValues(0).getWhole();
    }
    return reply.getGroupsList().stream()
        .filter(each -> !each.getRest() && each.getKeysList().equals(group))
        .mapToLong(each -> each.getValues(0).getWhole())
        .sum();
  }

  /** Windows that end nearer than a window to one that alerted are the same matter. */
  private synchronized boolean isNew(WatchSpec spec, Window window) {
    Group group = new Group(window.watch(), window.group());
    Long last = lastEndNs.get(group);
    if (last != null && Math.abs(window.endNs() - last) < spec.windowNs()) {
      return false;
    }
    lastEndNs.put(group, window.endNs());
    return true;
  }

  /** Reports that were not looked into, since there were too many at once. */
  synchronized long leftOut(String watch) {
    return leftOut.getOrDefault(watch, 0L);
  }

  /** Windows that will be asked for once more. */
  synchronized int pending() {
    return looking.values().stream().mapToInt(Set::size).sum();
  }
}
