package io.tapline.control.query.monitors;

import com.google.protobuf.TextFormat;
import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.control.WallClock;
import io.tapline.control.registry.AssignmentEvents;
import io.tapline.control.registry.Assignments;
import io.tapline.control.registry.TriggerSet;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Queue;
import io.tapline.schema.rpc.MonitorStatus;
import io.tapline.schema.rpc.QueryAccounting;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A query's monitors on hosts, run by the hosts' agents. They are ready once all of them capture,
 * and have ended once each of them has ended.
 *
 * <p>A part is reassigned with a higher epoch: to the same host if that has restarted, or to
 * another that can see the same packets if its host is gone. If no host can take over a part, the
 * query waits for the part's host for a grace period, and then fails with an error that names the
 * host. Thread-safe.
 */
public final class RemoteMonitors implements QueryMonitor {
  private static final Logger LOG = LoggerFactory.getLogger(RemoteMonitors.class);

  private final Assignments registry;
  private final String query;
  private final boolean inherited;
  private final PartPlacement placement;
  private final Runnable onReady;
  private final CompletableFuture<Void> end = new CompletableFuture<>();
  private final List<RemotePart> parts = new ArrayList<>();

  /** Lock that serializes moves of parts and updates of LIMIT Np. */
  private final Object moving = new Object();

  /** Null if the query is not sampled by port. */
  private final MirrorSampling narrowing;

  /** Null if the query has no LIMIT Np. Guarded by {@link #moving}. */
  private final SharedLimit limit;

  /**
   * Null if the triggers are those of the plan. Guarded by {@link #parts}, like the next three
   * fields.
   */
  private TriggerSet triggers;

  private Consumer<MonitorStatus.Triggers> answers = answer -> {};
  private boolean stopping;

  /** Null until the query is asked to stop. */
  private CompletableFuture<Void> settled;

  private volatile boolean killed;

  /**
   * Limits that end a query automatically.
   *
   * @param endsAtNs end of a LIMIT's time on the clock of System.nanoTime; empty if the LIMIT has
   *     no time, or it has not begun
   * @param packets total number of packets that the query's parts may take; 0 for no limit
   */
  public record Bounds(OptionalLong endsAtNs, long packets) {}

  private RemoteMonitors(
      Assignments registry,
      String query,
      List<Plan> plans,
      boolean inherited,
      Bounds bounds,
      PartPlacement placement,
      Runnable onReady) {
    this.registry = registry;
    this.inherited = inherited;
    this.query = query;
    this.placement = placement;
    this.onReady = onReady;
    plans.forEach(plan -> parts.add(new RemotePart(plan, bounds.endsAtNs())));
    boolean byPort = plans.stream().anyMatch(plan -> plan.getSampling().getByPort());
    narrowing =
        byPort ? new MirrorSampling(placement::narrow, placement::isMirrored, inherited) : null;
    limit =
        bounds.packets() == 0
            ? null
            : new SharedLimit(bounds.packets(), parts, WallClock.nowNs(), new LimitListener());
  }

  private final class LimitListener implements SharedLimit.Outlet {
    @Override
    public void keep(List<Plan> plans) throws IOException {
      placement.record(plans);
    }

    @Override
    public void credit(String host, long packets, long version) {
      registry.credit(host, query, packets, version);
    }

    @Override
    public void used() {
      stop();
    }
  }

  /**
   * Assigns each part to the agent of its host.
   *
   * @param inherited true if an earlier control plane has already assigned them
   * @param onReady called once all parts capture, and again once a moved part captures
   */
  public static RemoteMonitors start(
      Assignments registry,
      String query,
      List<Plan> plans,
      boolean inherited,
      Bounds bounds,
      PartPlacement placement,
      Runnable onReady) {
    RemoteMonitors monitors =
        new RemoteMonitors(registry, query, plans, inherited, bounds, placement, onReady);
    if (plans.isEmpty()) {
      monitors.end.completeExceptionally(
          new PipelineException(
              Kind.RESOURCES, "no host had an agent when the query was submitted"));
    }
    for (RemotePart part : monitors.parts) {
      AssignmentEvents events = monitors.new Events(part);
      if (inherited) {
        registry.inherit(part.host(), query, part.epoch(), part.plan(), events);
      } else {
        registry.assign(part.host(), query, part.epoch(), part.plan(), events);
      }
    }
    return monitors;
  }

  /** Receives the events of a part; ignores them if the part has moved since. */
  private final class Events implements AssignmentEvents {
    private final RemotePart part;
    private final int epoch;

    Events(RemotePart part) {
      this.part = part;
      this.epoch = part.epoch();
    }

    private boolean isPast() {
      synchronized (parts) {
        return part.epoch() != epoch;
      }
    }

    /** Updates LIMIT Np, outside the registry's thread and one update at a time. */
    private void count(Runnable change) {
      if (limit == null) {
        return;
      }
      later(
          () -> {
            synchronized (moving) {
              if (!isPast()) {
                change.run();
              }
            }
          });
    }

    @Override
    public void credits(MonitorStatus.Credits usage) {
      count(() -> limit.onCredits(part, usage));
    }

    @Override
    public void triggers(MonitorStatus.Triggers response) {
      Consumer<MonitorStatus.Triggers> receiver;
      synchronized (parts) {
        receiver = isPast() ? any -> {} : answers;
      }
      receiver.accept(response);
    }

    @Override
    public void limited(double rate) {
      synchronized (parts) {
        if (!isPast()) {
          part.limited(rate);
        }
      }
    }

    @Override
    public void running() {
      count(() -> limit.began(part));
      synchronized (parts) {
        if (isPast() || !part.becomesReady()) {
          return;
        }
        if (!parts.stream().allMatch(RemotePart::isReady)) {
          return;
        }
      }
      later(onReady);
    }

    @Override
    public void ended(QueryAccounting accounting) {
      String counts = TextFormat.printer().shortDebugString(accounting);
      LOG.info("{} has ended on {}: {}", query, part.host(), counts);
      partEnded();
    }

    private void partEnded() {
      count(() -> limit.lost(part));
      synchronized (parts) {
        if (isPast()) {
          return;
        }
        part.ends();
        if (!parts.stream().allMatch(RemotePart::hasEnded)) {
          return;
        }
      }
      end.complete(null);
    }

    @Override
    public void failed(String kind, String reason) {
      Kind owner =
          switch (kind) {
            case "user" -> Kind.USER;
            case "resources" -> Kind.RESOURCES;
            default -> Kind.INTERNAL;
          };
      if (!isPast()) {
        end.completeExceptionally(new PipelineException(owner, reason));
      }
    }

    @Override
    public void lost(String reason) {
      synchronized (parts) {
        if (stopping && inherited) {
          // The agent may have reported the part's end to the control plane that failed.
          partEnded();
          return;
        } else if (stopping) {
          failed("resources", reason);
          return;
        }
      }
      LOG.warn("{}: {}", query, reason);
      later(() -> resume(part, epoch, placement.current()));
    }

    @Override
    public void disconnected() {
      later(() -> moveToOtherHost(part, epoch));
    }

    @Override
    public void warning(String message) {
      LOG.warn("{}: {}", query, message);
    }
  }

  /** Runs a task outside the registry's thread, which must not block on it. */
  private void later(Runnable task) {
    CompletableFuture.runAsync(task)
        .exceptionally(
            fault -> {
              LOG.error("cannot process further events of {}", query, fault);
              return null;
            });
  }

  private void moveToOtherHost(RemotePart part, int epoch) {
    if (part.plan().getQueuesCount() > 0) {
      moveQueues(part, epoch);
      return;
    }
    Optional<Map<String, Match>> now = placement.without(part.host());
    if (now.isEmpty() || now.get().containsKey(part.host())) {
      LOG.warn("{}: no other host can take over from {}; waiting for it", query, part.host());
    } else {
      resume(part, epoch, now);
    }
  }

  /**
   * Moves a part that measures queues to a host to which switches can copy both sides of these
   * queues.
   */
  private void moveQueues(RemotePart part, int epoch) {
    Optional<List<Queue>> moved =
        placement.moveQueues(part.plan().getQueuesList(), Set.copyOf(hosts()));
    if (moved.isEmpty()) {
      LOG.warn("{}: no other host can measure its queues; waiting for {}", query, part.host());
      return;
    }
    String newHost = moved.get().get(0).getHost();
    LOG.warn("{} resumes on {} in place of {}, which is gone", query, newHost, part.host());
    reassign(part, epoch, newHost, part.plan().getMatch(), moved.get());
  }

  /**
   * Resumes a part where its packets are now: on its own host, else on a host without another part.
   */
  private void resume(RemotePart part, int epoch, Optional<Map<String, Match>> now) {
    if (now.isEmpty()) {
      reassign(part, epoch, part.host(), part.plan().getMatch(), part.plan().getQueuesList());
      return;
    }
    String newHost = part.host();
    if (!now.get().containsKey(newHost)) {
      Set<String> free = new TreeSet<>(now.get().keySet());
      hosts().forEach(free::remove);
      if (free.isEmpty()) {
        return;
      }
      newHost = free.iterator().next();
      LOG.warn("{} resumes on {} in place of {}, which is gone", query, newHost, part.host());
    }
    reassign(part, epoch, newHost, now.get().get(newHost), part.plan().getQueuesList());
  }

  /** Assigns a part again, with the next epoch. */
  private void reassign(RemotePart part, int epoch, String host, Match match, List<Queue> queues) {
    synchronized (moving) {
      String oldHost = part.host();
      Plan next = part.next(host, match).toBuilder().clearQueues().addAllQueues(queues).build();
      synchronized (parts) {
        if (part.epoch() != epoch || stopping || end.isDone()) {
          return;
        }
      }
      try {
        placement.record(parts.stream().map(other -> other == part ? next : other.plan()).toList());
      } catch (IOException e) {
        LOG.error(
            "{}: can't record the move of a part, which stays on its host: {}",
            query,
            e.getMessage());
        return;
      }
      synchronized (parts) {
        part.becomes(next);
      }
      if (limit != null) {
        limit.lost(part);
      }
      registry.move(oldHost, host, query, part.epoch(), next, new Events(part));
      synchronized (parts) {
        if (triggers != null) {
          registry.triggers(host, query, part.epoch(), triggers);
        }
        if (stopping) {
          registry.end(host, query);
        }
      }
    }
  }

  @Override
  public CompletableFuture<Void> end() {
    return end;
  }

  private List<String> hosts() {
    synchronized (parts) {
      return parts.stream().map(RemotePart::host).toList();
    }
  }

  @Override
  public double limit(double rate) {
    double announced =
        narrowing == null ? rate : narrowing.next(rate, maxRate(), System.nanoTime());
    synchronized (parts) {
      parts.forEach(part -> part.limit(announced));
    }
    hosts().forEach(host -> registry.limit(host, query, announced));
    return announced;
  }

  @Override
  public void triggers(TriggerSet set, Consumer<MonitorStatus.Triggers> receiver) {
    synchronized (parts) {
      triggers = set;
      answers = receiver;
      parts.forEach(part -> registry.triggers(part.host(), query, part.epoch(), set));
    }
  }

  /**
   * Returns the action for the parts that are ready now. Parts that move before the action runs
   * have a new epoch, for which their agents must be notified again.
   */
  @Override
  public Runnable onMirrored() {
    List<Plan> watching;
    synchronized (parts) {
      watching =
          parts.stream()
              .filter(RemotePart::isReady)
              .map(RemotePart::plan)
              .filter(plan -> plan.getRulesCount() > 0)
              .toList();
    }
    return () ->
        watching.forEach(
            plan -> registry.mirrored(plan.getMonitors(0).getHost(), query, plan.getEpoch()));
  }

  /** Returns the highest rate that any part may still keep. */
  private double maxRate() {
    synchronized (parts) {
      return parts.stream().mapToDouble(RemotePart::maxRate).max().orElse(1);
    }
  }

  @Override
  public void stop() {
    CompletableFuture<Void> last;
    synchronized (parts) {
      stopping = true;
      if (settled == null) {
        settled = placement.settled(Set.copyOf(hosts()));
      }
      last = settled;
    }
    last.whenComplete((none, fault) -> hosts().forEach(host -> registry.end(host, query)));
  }

  /**
   * Makes agents end everything that they still have of the query, even if they reconnect later.
   */
  @Override
  public void kill() {
    synchronized (parts) {
      stopping = true;
    }
    hosts().forEach(host -> registry.forget(host, query));
    if (!end.isDone()) {
      killed = true;
      end.completeExceptionally(
          new PipelineException(Kind.RESOURCES, "the monitors did not end the query in time"));
    }
  }

  @Override
  public boolean killed() {
    return killed;
  }
}
