package io.tapline.control.registry;

import com.google.protobuf.TextFormat;
import io.grpc.Status;
import io.tapline.flink.Login;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.rpc.AgentCommand;
import io.tapline.schema.rpc.AgentHeartbeat;
import io.tapline.schema.rpc.AgentHello;
import io.tapline.schema.rpc.AssignCommand;
import io.tapline.schema.rpc.Assignment;
import io.tapline.schema.rpc.CopiesLostCommand;
import io.tapline.schema.rpc.CreditCommand;
import io.tapline.schema.rpc.EndCommand;
import io.tapline.schema.rpc.EventBatch;
import io.tapline.schema.rpc.EventsTakenCommand;
import io.tapline.schema.rpc.LimitCommand;
import io.tapline.schema.rpc.MirroredCommand;
import io.tapline.schema.rpc.MonitorStatus;
import io.tapline.schema.rpc.Probe;
import io.tapline.schema.rpc.TriggersCommand;
import io.tapline.schema.rpc.Welcome;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.LongConsumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One host's agent: its lease, if it has one, and its assignments, which outlive the lease by the
 * grace period. Confined to the registry's thread.
 */
final class Agent {
  private static final Logger LOG = LoggerFactory.getLogger(Agent.class);

  /** First protocol version with plans and statuses as messages, not JSON (schema/agent.proto). */
  private static final int PROTOCOL = 1;

  private final String name;
  private final RegistryOptions options;
  private final LeaseListener listener;
  private final Executor later;
  private final Map<String, Assigned> assigned = new LinkedHashMap<>();
  private final AgentTriggers triggers = new AgentTriggers();
  final AgentRoutes routes;
  private final ClockOffset clock = new ClockOffset();
  private AgentHello hello = AgentHello.getDefaultInstance();
  private AgentHeartbeat heartbeat = AgentHeartbeat.getDefaultInstance();
  private LeaseStream stream;
  private long heardNs;
  private long sinceNs = wallNs();
  private long lostAtNs = System.nanoTime();
  private boolean reportedDisconnect;

  /**
   * Creates an agent without a lease.
   *
   * @param later executes tasks on the registry's thread
   */
  Agent(String name, RegistryOptions options, LeaseListener listener, Executor later) {
    this.name = name;
    this.options = options;
    this.listener = listener;
    this.later = later;
    this.routes =
        new AgentRoutes(
            name, options.lease().toNanos(), routes -> send(command().setRoutes(routes)));
  }

  boolean up() {
    return stream != null;
  }

  /** Returns true if the agent can be evicted: it is disconnected, without assignments. */
  boolean idle() {
    return stream == null && assigned.isEmpty();
  }

  /** Returns true if this agent has a lease and was started after the sender of this hello. */
  boolean outlives(AgentHello newHello) {
    return stream != null
        && Long.compareUnsigned(newHello.getIncarnation(), hello.getIncarnation()) < 0;
  }

  /** Grants a lease: sends the agent its assignments, and asks it to end others. */
  void lease(AgentHello newHello, LeaseStream newStream) {
    if (stream != null) {
      stream.fail(Status.ABORTED.withDescription("another stream has this agent's lease"));
    }
    boolean restarted =
        hello.getIncarnation() != 0 && newHello.getIncarnation() != hello.getIncarnation();
    hello = newHello;
    stream = newStream;
    heardNs = System.nanoTime();
    sinceNs = wallNs();
    reportedDisconnect = false;
    Login login = options.logins().apply(name);
    stream.send(
        command()
            .setWelcome(
                Welcome.newBuilder()
                    .setLeaseMs((int) options.lease().toMillis())
                    .setGraceMs((int) options.grace().toMillis())
                    .setBrokers(options.brokers())
                    .setHashKey(options.hashKeys().flows().digits())
                    .setTextKey(options.hashKeys().texts().digits())
                    .setBrokerUser(login.user())
                    .setBrokerPassword(login.password())
                    .setProtocol(PROTOCOL))
            .build());
    LOG.info("agent {} connected", name);
    listener.up(name, newHello.getMultilog());
    reportLost(restarted, newHello);
    triggers.connected(newHello);
    routes.connected(newHello);
    newHello.getAssignmentsList().stream()
        .map(Assignment::getQuery)
        .filter(query -> !assigned.containsKey(query))
        .forEach(query -> sendEnd(query, true));
    assigned.forEach(this::sendAssign);
    probe();
  }

  /** Removes the assignments that the agent no longer has, and reports them as lost. */
  private void reportLost(boolean restarted, AgentHello newHello) {
    Set<String> has =
        newHello.getAssignmentsList().stream()
            .map(Assignment::getQuery)
            .collect(Collectors.toSet());
    List<Assigned> lost = new ArrayList<>();
    for (String query : List.copyOf(assigned.keySet())) {
      Assigned assignment = assigned.get(query);
      if (restarted || assignment.inherited() && !has.contains(query)) {
        lost.add(assigned.remove(query));
      } else {
        assigned.put(query, assignment.onMessage());
      }
    }
    String reason = "the agent of " + name + " was restarted; tuples that it had not sent are lost";
    lost.forEach(assignment -> assignment.events().lost(reason));
  }

  private AgentCommand.Builder command() {
    return AgentCommand.newBuilder().setTerm(options.term());
  }

  private static long wallNs() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }

  /**
   * Adds an assignment. REQUIRES: the query is not assigned to this agent.
   *
   * @param inherited true if an earlier control plane assigned it
   */
  void assign(String query, int epoch, Plan plan, AssignmentEvents events, boolean inherited) {
    Assigned assignment = new Assigned(epoch, plan, events, inherited, false, 0, false);
    triggers.forget(query);
    assigned.put(query, assignment);
    sendAssign(query, assignment);
  }

  private void sendAssign(String query, Assigned assignment) {
    AssignCommand.Builder assign =
        AssignCommand.newBuilder().setQuery(query).setEpoch(assignment.epoch());
    if (hello.getProtocol() >= PROTOCOL) {
      assign.setPlan(assignment.plan());
    } else {
      // Monitors of the previous version reject fields that they do not know; no monitor uses
      // filters or processors.
      Plan knownPlan = assignment.plan().toBuilder().clearFilters().clearProcessors().build();
      assign.setPlanJson(Plans.toJson(knownPlan));
    }
    send(command().setAssign(assign));
    if (assignment.mirrored()) {
      sendMirrored(query, assignment.epoch());
    }
    if (assignment.rate() > 0) {
      sendLimit(query, assignment.rate());
    }
    sendTriggers(triggers.missing(query, assignment.epoch()));
    if (assignment.ending()) {
      sendEnd(query, false);
    }
  }

  /** Asks the agent to end a query; the query's events report the end. */
  void end(String query) {
    if (assigned.computeIfPresent(query, (id, assignment) -> assignment.ended()) != null) {
      sendEnd(query, false);
    }
  }

  /**
   * Requests the end of a query.
   *
   * @param abandon true if the query's stream does not end with this assignment: another host may
   *     take over, or no component waits for the end
   */
  private void sendEnd(String query, boolean abandon) {
    send(command().setEnd(EndCommand.newBuilder().setQuery(query).setAbandon(abandon)));
  }

  void triggers(String query, int epoch, TriggerSet set) {
    Assigned assignment = assigned.get(query);
    if (assignment != null && assignment.epoch() == epoch) {
      sendTriggers(triggers.set(query, epoch, set));
      if (stream == null) {
        triggers.disconnected();
      }
    }
  }

  /**
   * Sends triggers. Agents that do not know the command are skipped; they use the plan's triggers.
   */
  private void sendTriggers(List<TriggersCommand> commands) {
    if (hello.getChangesTriggers()) {
      commands.forEach(triggers -> send(command().setTriggers(triggers)));
    }
  }

  /** Drops an assignment: ignores further reports about it, and asks the agent to end it. */
  void forget(String query) {
    if (assigned.remove(query) != null) {
      sendEnd(query, true);
    }
  }

  void limit(String query, double rate) {
    if (assigned.computeIfPresent(query, (id, assignment) -> assignment.limited(rate)) != null) {
      sendLimit(query, rate);
    }
  }

  private void sendLimit(String query, double rate) {
    send(command().setLimit(LimitCommand.newBuilder().setQuery(query).setRate(rate)));
  }

  /** Records that switches copy all packets of an assignment; ignored if its epoch has changed. */
  void mirrored(String query, int epoch) {
    Assigned assignment = assigned.get(query);
    if (assignment != null && assignment.epoch() == epoch) {
      assigned.put(query, assignment.copied());
      sendMirrored(query, epoch);
    }
  }

  private void sendMirrored(String query, int epoch) {
    send(command().setMirrored(MirroredCommand.newBuilder().setQuery(query).setEpoch(epoch)));
  }

  void credit(String query, long packets, long version) {
    if (assigned.containsKey(query)) {
      send(
          command()
              .setCredit(
                  CreditCommand.newBuilder()
                      .setQuery(query)
                      .setPackets(packets)
                      .setVersion(version)));
    }
  }

  void lose(long incarnation, long packets) {
    send(
        command()
            .setCopiesLost(
                CopiesLostCommand.newBuilder().setIncarnation(incarnation).setPackets(packets)));
  }

  private void send(AgentCommand.Builder command) {
    if (stream != null) {
      stream.send(command.build());
    }
  }

  private void probe() {
    send(command().setProbe(Probe.newBuilder().setSentNs(wallNs())));
  }

  /** Called once per probe interval. */
  void tick() {
    long now = System.nanoTime();
    if (stream != null && now - heardNs > options.lease().toNanos()) {
      stream.fail(Status.DEADLINE_EXCEEDED.withDescription("no heartbeat"));
      lost();
    }
    if (stream == null && !assigned.isEmpty()) {
      miss(now - lostAtNs);
    }
    probe();
  }

  private void miss(long disconnectedNs) {
    if (disconnectedNs > options.grace().toNanos()) {
      failAll("the agent of " + name + " disconnected and did not return");
    } else if (disconnectedNs > timeoutNs() && !reportedDisconnect) {
      reportedDisconnect = true;
      List.copyOf(assigned.values()).forEach(assignment -> assignment.events().disconnected());
    }
  }

  /** Returns how long assignments wait for the agent; longer if it must find this control plane. */
  private long timeoutNs() {
    boolean looking = assigned.values().stream().anyMatch(Assigned::inherited);
    return options.disconnectAfter().toNanos() * (looking ? 3 : 1);
  }

  /** Handles a broken stream, which another one may already have replaced. */
  void broke(LeaseStream brokenStream) {
    if (brokenStream == stream) {
      lost();
    }
  }

  private void lost() {
    LOG.warn("agent {} disconnected", name);
    stream = null;
    sinceNs = wallNs();
    lostAtNs = System.nanoTime();
    routes.disconnected();
    listener.lost(name);
  }

  private void failAll(String reason) {
    List<Assigned> failed = List.copyOf(assigned.values());
    assigned.clear();
    failed.forEach(assignment -> assignment.events().failed("resources", reason));
  }

  void onMessage(LeaseStream leaseStream, AgentHeartbeat newHello) {
    if (leaseStream == stream) {
      heartbeat = newHello;
      heardNs = System.nanoTime();
      clock.add(
          newHello.getProbeSentNs(), newHello.getReceivedNs(), newHello.getSentNs(), wallNs());
    }
  }

  void onMessage(LeaseStream leaseStream, MonitorStatus newHello) {
    if (leaseStream != stream) {
      return;
    }
    heardNs = System.nanoTime();
    on(newHello.hasJson() ? EventJson.read(newHello) : newHello);
  }

  private void on(MonitorStatus status) {
    switch (status.getEventCase()) {
      case QUERY_ADDED ->
          assigned(status.getQueryAdded().getQuery(), status)
              .ifPresent(assignment -> assignment.events().running());
      case CREDITS ->
          assigned(status.getCredits().getQuery(), status)
              .ifPresent(assignment -> assignment.events().credits(status.getCredits()));
      case LIMITED ->
          assigned(status.getLimited().getQuery(), status)
              .ifPresent(assignment -> assignment.events().limited(status.getLimited().getRate()));
      case TRIGGERS -> onTriggers(status);
      case ROUTES -> routes.answered(status.getRoutes());
      case QUERY_REFUSED -> onRefused(status);
      case QUERY_ENDED -> onEnded(status);
      case COPIES -> onCopies(status.getCopies());
      case WARNING -> warn(status.getWarning().getMessage());
      case ERROR -> warn(status.getError().getMessage());
      case MONITOR_ENDED -> warn(status.getMonitorEnded().getMessage());
      default -> LOG.info("agent {}: {}", name, TextFormat.printer().shortDebugString(status));
    }
  }

  /** Returns the assignment that a status refers to; empty if there is none with the same epoch. */
  private Optional<Assigned> assigned(String query, MonitorStatus status) {
    return Optional.ofNullable(assigned.get(query))
        .filter(assignment -> status.getEpoch() == 0 || status.getEpoch() == assignment.epoch());
  }

  private void onTriggers(MonitorStatus status) {
    MonitorStatus.Triggers response = status.getTriggers();
    assigned(response.getQuery(), status)
        .ifPresent(
            assignment -> {
              List<TriggersCommand> again =
                  response.hasSinceNs()
                      ? List.of()
                      : triggers.refused(assignment.epoch(), response);
              sendTriggers(again);
              if (again.isEmpty()) {
                assignment.events().triggers(response);
              }
            });
  }

  private void onRefused(MonitorStatus status) {
    MonitorStatus.QueryRefused queryRefused = status.getQueryRefused();
    assigned(queryRefused.getQuery(), status)
        .ifPresent(
            assignment -> {
              assigned.remove(queryRefused.getQuery());
              assignment
                  .events()
                  .failed(queryRefused.getKind(), name + ": " + queryRefused.getMessage());
            });
  }

  private void onEnded(MonitorStatus status) {
    MonitorStatus.QueryEnded ended = status.getQueryEnded();
    String query = ended.getQuery();
    if (!assigned.containsKey(query) && !ended.getLost()) {
      sendEnd(query, false);
    }
    assigned(query, status)
        .ifPresent(
            assignment -> {
              assigned.remove(query);
              sendEnd(query, false);
              if (ended.getLost()) {
                assignment
                    .events()
                    .lost("the monitor of " + name + " was lost before it had sent everything");
              } else {
                assignment.events().ended(ended.getAccounting());
              }
            });
  }

  /** Forwards events. Any thread may call it, since event numbers show which events are new. */
  void onMessage(EventBatch batch) {
    LongConsumer taken = next -> later.execute(() -> taken(batch, next));
    if (!listener.events(name, batch, taken)) {
      taken.accept(batch.getFirst() + batch.getCount());
    }
  }

  private void taken(EventBatch batch, long next) {
    send(
        command()
            .setEventsTaken(
                EventsTakenCommand.newBuilder()
                    .setQuery(batch.getQuery())
                    .setIncarnation(batch.getIncarnation())
                    .setNext(next)));
  }

  private void warn(String message) {
    LOG.warn("agent {}: {}", name, message);
    List.copyOf(assigned.values())
        .forEach(assignment -> assignment.events().warning(name + ": " + message));
  }

  /** Reports how many copies arrived by which time, if the host's clock offset is known. */
  private void onCopies(MonitorStatus.Copies copies) {
    ClockOffset.Estimate offset = clock.best();
    if (offset != null) {
      long untilNs = copies.getUntilNs() - offset.offsetNs() - offset.errorNs();
      listener.copies(
          name,
          copies.getIncarnation(),
          copies.getPackets(),
          System.nanoTime() - (wallNs() - untilNs));
    }
  }

  AgentState state() {
    return new AgentState(
        name,
        up(),
        sinceNs,
        hello.getVersion(),
        hello.getInterface(),
        hello.getTapsList().stream().map(AgentTap::of).toList(),
        hello.getPolledTimes(),
        hello.getChangesTriggers(),
        hello.getCapacityMbps(),
        hello.getParsersList(),
        hello.getMultilog(),
        heartbeat.getLoad(),
        heartbeat.getCores(),
        heartbeat.getMonitorStarts(),
        clock.best(),
        List.copyOf(assigned.keySet()));
  }

  /** Ends the lease because the registry closes; the agent looks for another control plane. */
  void close() {
    if (stream != null) {
      stream.fail(Status.UNAVAILABLE.withDescription("the control plane is shutting down"));
      stream = null;
    }
  }
}
