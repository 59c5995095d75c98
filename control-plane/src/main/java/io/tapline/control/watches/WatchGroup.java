package io.tapline.control.watches;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.packets.TriggerCost;
import io.tapline.control.drill.MonitorWatches.Listener;
import io.tapline.control.drill.MonitorWatches.Watch;
import io.tapline.control.registry.TriggerSet;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.rpc.MonitorStatus;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/**
 * The watches that share a query, each as one of its triggers. A trigger's number is never used for
 * another watch. Thread-safe.
 */
final class WatchGroup implements EventFollower.Receiver {
  /** Maximum number of triggers per query (parsers/trigger/program.h). */
  static final int MAX_TRIGGERS = 16_384;

  /**
   * Maximum number of distinct {@link Kind}s among a query's triggers (parsers/trigger/program.h).
   */
  static final int MAX_KINDS = 16;

  /**
   * Maximum window of watches that share a query. A watch that is added to a query starts to count
   * at a window boundary, which would be too far away with longer windows.
   */
  static final long MAX_SHARED_NS = 10_000_000_000L;

  /**
   * The watches that may share a query.
   *
   * @param scope the owner's networks
   * @param everyNs length of the windows, which end together
   */
  record Key(String tenant, String scope, long everyNs) {}

  private final Key key;
  private final Map<Integer, Member> members = new TreeMap<>();

  /** Number of members of each kind. */
  private final Map<Kind, Integer> kinds = new HashMap<>();

  private int next;
  private long version;
  private boolean changed;
  private CompletableFuture<MonitorStatus.Triggers> answer = new CompletableFuture<>();

  /** A watch, and the packet time from which it counts; 0 until a monitor has reported it. */
  private static final class Member {
    private final Watch watch;
    private final PacketTrigger trigger;
    private final TriggerAlerts alerts;
    private long addedIn;
    private long sinceNs;

    Member(Watch watch, int number, Listener listener) {
      this.watch = watch;
      this.trigger = watch.trigger().toBuilder().setProcessor(number).build();
      this.alerts = new TriggerAlerts(watch.name(), watch.spec(), listener);
    }
  }

  WatchGroup(Key key) {
    this.key = key;
  }

  /** Returns true if the query can also evaluate a watch with this key and trigger. */
  synchronized boolean takes(Key wanted, PacketTrigger trigger) {
    if (!wanted.equals(key) || key.everyNs() > MAX_SHARED_NS && !members.isEmpty()) {
      return false;
    }
    boolean fits = kinds.size() < MAX_KINDS || kinds.containsKey(Kind.of(trigger));
    return fits && members.size() < MAX_TRIGGERS;
  }

  /**
   * The properties of a trigger that determine which other triggers it is counted with.
   *
   * @param parts its group, networks, burst and window
   */
  private record Kind(PacketTrigger parts, boolean comparesValues) {
    static Kind of(PacketTrigger trigger) {
      PacketTrigger parts =
          PacketTrigger.newBuilder()
              .addAllGroup(trigger.getGroupList())
              .addAllNetworks(trigger.getNetworksList())
              .setBurst(trigger.getBurst())
              .setWindow(trigger.getWindow())
              .build();
      return new Kind(parts, TriggerCost.comparesValues(trigger));
    }
  }

  /** Adds a watch, which the next version will contain; returns its trigger's number. */
  synchronized int add(Watch watch, Listener listener) {
    put(next, watch, listener);
    return next - 1;
  }

  /** Adds a watch with a given number, such as one that an earlier server assigned. */
  synchronized void put(int number, Watch watch, Listener listener) {
    members.put(number, new Member(watch, number, listener));
    kinds.merge(Kind.of(watch.trigger()), 1, Integer::sum);
    next = Math.max(next, number + 1);
    changed = true;
  }

  synchronized void remove(Collection<Integer> numbers) {
    for (int number : numbers) {
      Member removed = members.remove(number);
      if (removed != null) {
        changed = true;
        kinds.computeIfPresent(Kind.of(removed.trigger), (kind, n) -> n == 1 ? null : n - 1);
      }
    }
  }

  synchronized boolean has(int number) {
    return members.containsKey(number);
  }

  synchronized boolean isEmpty() {
    return members.isEmpty();
  }

  /** Returns true if {@link #next} differs from the previous version. */
  synchronized boolean isChanged() {
    return changed;
  }

  /** Returns the current triggers as the next version. */
  synchronized TriggerSet next() {
    changed = false;
    version = Math.max(version + 1, ChronoUnit.NANOS.between(Instant.EPOCH, Instant.now()));
    answer = new CompletableFuture<>();
    Map<Integer, PacketTrigger> triggers = new TreeMap<>();
    members.forEach(
        (number, member) -> {
          member.addedIn = member.addedIn == 0 ? version : member.addedIn;
          triggers.put(number, member.trigger);
        });
    return new TriggerSet(version, triggers);
  }

  /**
   * Returns a future of the response to the latest version. It never completes if another version
   * follows first.
   */
  synchronized CompletableFuture<MonitorStatus.Triggers> answer() {
    return answer;
  }

  /** Handles a response from the monitor. */
  synchronized void answered(MonitorStatus.Triggers report) {
    if (report.hasSinceNs()) {
      for (Member member : members.values()) {
        if (member.sinceNs == 0 && member.addedIn <= report.getVersion()) {
          member.sinceNs = report.getSinceNs();
        }
      }
    }
    if (report.getVersion() == version) {
      answer.complete(report);
    }
  }

  synchronized OptionalLong sinceNs(int number) {
    Member member = members.get(number);
    return member == null || member.sinceNs == 0
        ? OptionalLong.empty()
        : OptionalLong.of(member.sinceNs);
  }

  /** Reports an event as an alert of its watch. */
  @Override
  public void take(JsonNode event, String id, String monitor, boolean replayed) {
    Member member;
    synchronized (this) {
      member = members.get(event.path("fields").path("trigger").asInt());
    }
    if (member != null) {
      member.alerts.take(event, id, monitor, replayed);
    }
  }
}
