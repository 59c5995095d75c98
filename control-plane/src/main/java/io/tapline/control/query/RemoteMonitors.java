package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.network.NetworkPlan;
import io.tapline.compiler.rules.MirrorPlanner;
import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.AgentState;
import io.tapline.control.registry.AssignmentEvents;
import io.tapline.control.registry.Assignments;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Sampling;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A query's monitors on hosts, by their agents. It watches once all of them do, and has ended once
 * all have.
 *
 * <p>A part whose host was started anew begins there again, and one whose host is gone on another
 * that can see the same packets, each time with a higher epoch; what no host can go on with ends
 * the query as a failure that names the host. Thread-safe.
 */
final class RemoteMonitors implements QueryMonitor {
  private static final Logger LOG = LoggerFactory.getLogger(RemoteMonitors.class);

  /** Where parts may go, and who has to know. */
  interface Moves {
    /** By host, what each is to count; empty if each host sees what it sees. */
    Optional<Map<String, Match>> present();

    /** The same from now on without a host; as before if there is no other. */
    Optional<Map<String, Match>> without(String host);

    /** See {@link QueryPlacements#narrow}. */
    boolean narrow(int zeros);

    /** Whether switches mirror what is wanted. */
    boolean isMirrored();

    /** Completes soon: once what was copied to hosts until now has come, or is told of. */
    CompletableFuture<Void> settled(Set<String> hosts);

    /** Says where parts are to be before they are told. */
    void moved(List<Plan> parts) throws IOException;
  }

  private final Assignments registry;
  private final String query;
  private final boolean inherited;
  private final Moves moves;
  private final Runnable onReady;
  private final CompletableFuture<Void> end = new CompletableFuture<>();
  private final List<RemotePart> parts = new ArrayList<>();

  /** Held while one part is moved: another waits for it. */
  private final Object moving = new Object();

  /** Null if the query is not sampled by port. */
  private final Narrowing narrowing;

  /** Null if the query has no LIMIT Np. Used by who holds {@link #moving}. */
  private final SharedLimit limit;

  private boolean stopping;

  /** Null before it is asked to stop. */
  private CompletableFuture<Void> settled;

  private volatile boolean killed;

  /**
   * What ends a query by itself.
   *
   * @param endsAtNs when a LIMIT's time is over, of System.nanoTime, if it has begun
   * @param packets all that its parts together may take; 0: any number
   */
  record Bounds(OptionalLong endsAtNs, long packets) {}

  private RemoteMonitors(
      Assignments registry,
      String query,
      List<Plan> plans,
      boolean inherited,
      Bounds bounds,
      Moves moves,
      Runnable onReady) {
    this.registry = registry;
    this.inherited = inherited;
    this.query = query;
    this.moves = moves;
    this.onReady = onReady;
    plans.forEach(plan -> parts.add(new RemotePart(plan, bounds.endsAtNs())));
    boolean byPort = plans.stream().anyMatch(plan -> plan.getSampling().getByPort());
    narrowing = byPort ? new Narrowing(moves::narrow, moves::isMirrored, inherited) : null;
    limit =
        bounds.packets() == 0
            ? null
            : new SharedLimit(bounds.packets(), parts, LiveQuery.nowNs(), new Lent());
  }

  private final class Lent implements SharedLimit.Outlet {
    @Override
    public void keep(List<Plan> plans) throws IOException {
      moves.moved(plans);
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

  /** The plan with a monitor for each host that has an agent now: each sees what its host does. */
  static Plan everywhere(Plan plan, AgentRegistry registry) {
    Plan.Builder placed = plan.toBuilder().clearMonitors();
    up(registry).forEach(host -> placed.addMonitors(part(host, placed.getMonitorsCount())));
    return placed.build();
  }

  /** The plan with a monitor for each host that packets are mirrored to. */
  static Plan placed(Plan plan, NetworkPlan network) {
    Plan.Builder placed = plan.toBuilder().clearMonitors();
    placed.clearRules().addAllRules(network.placed().rules());
    if (plan.getSampling().getMode() == Sampling.Mode.AUTO) {
      placed.getSamplingBuilder().setByPort(MirrorPlanner.canBeNarrowed(plan.getMatch()));
    }
    network
        .parts()
        .keySet()
        .forEach(host -> placed.addMonitors(part(host, placed.getMonitorsCount())));
    return placed.build();
  }

  private static Monitor part(String host, int partition) {
    return Monitor.newBuilder().setId(host).setHost(host).setPartition(partition).build();
  }

  /**
   * The plan of each of a plan's monitors.
   *
   * @param matches by host, what its monitor counts; all of the match where there is none
   */
  static List<Plan> parts(Plan plan, Map<String, Match> matches) {
    long packets = Integer.toUnsignedLong(plan.getLimit().getPackets());
    List<Long> shares = PacketPool.shares(packets, plan.getMonitorsCount());
    List<Plan> parts = new ArrayList<>();
    for (Monitor part : plan.getMonitorsList()) {
      Plan.Builder each = plan.toBuilder().clearStream().clearMonitors().addMonitors(part);
      each.setMatch(matches.getOrDefault(part.getHost(), plan.getMatch()));
      if (packets > 0) {
        each.getLimitBuilder().setLeased(true).setPackets(shares.get(parts.size()).intValue());
      }
      parts.add(each.build());
    }
    return parts;
  }

  /** The hosts whose agents hold a lease. */
  static Set<String> up(AgentRegistry registry) {
    Set<String> hosts = new TreeSet<>();
    registry.states().stream().filter(AgentState::up).forEach(agent -> hosts.add(agent.name()));
    return hosts;
  }

  /**
   * Assigns each part to the agent of its host.
   *
   * @param inherited whether an earlier control plane has done so
   * @param onReady called when all watch, and again when one that moved does
   */
  static RemoteMonitors start(
      Assignments registry,
      String query,
      List<Plan> plans,
      boolean inherited,
      Bounds bounds,
      Moves moves,
      Runnable onReady) {
    RemoteMonitors monitors =
        new RemoteMonitors(registry, query, plans, inherited, bounds, moves, onReady);
    if (plans.isEmpty()) {
      monitors.end.completeExceptionally(
          new PipelineException(Kind.RESOURCES, "no host had an agent when it was submitted"));
    }
    for (RemotePart part : monitors.parts) {
      AssignmentEvents events = monitors.new Events(part);
      String json = Plans.toJson(part.plan());
      if (inherited) {
        registry.inherit(part.host(), query, part.epoch(), json, events);
      } else {
        registry.assign(part.host(), query, part.epoch(), json, events);
      }
    }
    return monitors;
  }

  /** What is said of a part, unless it is somewhere else by now. */
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

    /** Of LIMIT Np: not on the registry's thread, and one at a time. */
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
    public void credits(JsonNode status) {
      count(() -> limit.heard(part, status));
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
    public void ended(JsonNode status) {
      LOG.info("{} has ended on {}: {}", query, part.host(), status.path("accounting"));
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
      Kind whose =
          switch (kind) {
            case "user" -> Kind.USER;
            case "resources" -> Kind.RESOURCES;
            default -> Kind.INTERNAL;
          };
      if (!isPast()) {
        end.completeExceptionally(new PipelineException(whose, reason));
      }
    }

    @Override
    public void lost(String reason) {
      synchronized (parts) {
        if (stopping && inherited) {
          // Its end may have been told to the control plane that died.
          partEnded();
          return;
        } else if (stopping) {
          failed("resources", reason);
          return;
        }
      }
      LOG.warn("{}: {}", query, reason);
      later(() -> goOn(part, epoch, moves.present()));
    }

    @Override
    public void away() {
      later(() -> moveAway(part, epoch));
    }

    @Override
    public void warning(String message) {
      LOG.warn("{}: {}", query, message);
    }
  }

  /** Events come on the registry's thread, which must not wait. */
  private void later(Runnable task) {
    CompletableFuture.runAsync(task)
        .exceptionally(
            fault -> {
              LOG.error("what follows for {} can't be done", query, fault);
              return null;
            });
  }

  private void moveAway(RemotePart part, int epoch) {
    Optional<Map<String, Match>> now = moves.without(part.host());
    if (now.isEmpty() || now.get().containsKey(part.host())) {
      LOG.warn("{}: no other host can go on for {}, which is waited for", query, part.host());
    } else {
      goOn(part, epoch, now);
    }
  }

  /** Where the part's packets are now: at its host, else at the one that no other part is at. */
  private void goOn(RemotePart part, int epoch, Optional<Map<String, Match>> now) {
    if (now.isEmpty()) {
      again(part, epoch, part.host(), part.plan().getMatch());
      return;
    }
    String to = part.host();
    if (!now.get().containsKey(to)) {
      Set<String> free = new TreeSet<>(now.get().keySet());
      hosts().forEach(free::remove);
      if (free.isEmpty()) {
        return;
      }
      to = free.iterator().next();
      LOG.warn("{} goes on at {} for {}, which is gone", query, to, part.host());
    }
    again(part, epoch, to, now.get().get(to));
  }

  /** Assigns a part with the next epoch. */
  private void again(RemotePart part, int epoch, String host, Match match) {
    synchronized (moving) {
      String from = part.host();
      Plan next = part.next(host, match);
      synchronized (parts) {
        if (part.epoch() != epoch || stopping || end.isDone()) {
          return;
        }
      }
      try {
        moves.moved(parts.stream().map(each -> each == part ? next : each.plan()).toList());
      } catch (IOException e) {
        LOG.error("{} stays where it was: {}", query, e.getMessage());
        return;
      }
      synchronized (parts) {
        part.becomes(next);
      }
      if (limit != null) {
        limit.lost(part);
      }
      registry.move(from, host, query, part.epoch(), Plans.toJson(next), new Events(part));
      synchronized (parts) {
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
    double told = narrowing == null ? rate : narrowing.next(rate, mostRate(), System.nanoTime());
    synchronized (parts) {
      parts.forEach(part -> part.limit(told));
    }
    hosts().forEach(host -> registry.limit(host, query, told));
    return told;
  }

  /** A part that moves meanwhile has another epoch, of which the agent then has to hear anew. */
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

  /** That any part may keep yet. */
  private double mostRate() {
    synchronized (parts) {
      return parts.stream().mapToDouble(RemotePart::mostRate).max().orElse(1);
    }
  }

  @Override
  public void stop() {
    CompletableFuture<Void> last;
    synchronized (parts) {
      stopping = true;
      if (settled == null) {
        settled = moves.settled(Set.copyOf(hosts()));
      }
      last = settled;
    }
    last.whenComplete((none, fault) -> hosts().forEach(host -> registry.end(host, query)));
  }

  /** Whatever an agent still has of the query it is told to end, also if it comes back later. */
  @Override
  public void kill() {
    synchronized (parts) {
      stopping = true;
    }
    hosts().forEach(host -> registry.forget(host, query));
    if (!end.isDone()) {
      killed = true;
      end.completeExceptionally(
          new PipelineException(Kind.RESOURCES, "the monitors do not end the query"));
    }
  }

  @Override
  public boolean killed() {
    return killed;
  }
}
