package io.tapline.control.query.monitors;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.control.registry.AssignmentEvents;
import io.tapline.control.registry.Assignments;
import io.tapline.control.registry.TriggerSet;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Monitor;
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
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tests a query's parts on simulated hosts. The tests send these hosts' reports. */
class RemoteMonitorsTest {
  private static final QueryAccounting DONE = QueryAccounting.getDefaultInstance();
  private static final Match MATCH = Match.getDefaultInstance();

  /** One assignment, and the receiver of its host's reports. */
  private record Call(
      String command, String host, int epoch, List<Queue> queues, AssignmentEvents events) {}

  /** Records the commands that are sent to hosts. */
  private static final class Hosts implements Assignments {
    final BlockingQueue<Call> calls = new LinkedBlockingQueue<>();
    final BlockingQueue<String> orders = new LinkedBlockingQueue<>();

    Call next() throws InterruptedException {
      Call next = calls.poll(30, TimeUnit.SECONDS);
      assertThat(next).as("an assignment").isNotNull();
      return next;
    }

    private boolean add(
        String command, String host, int epoch, Plan plan, AssignmentEvents events) {
      assertThat(plan.getEpoch()).isEqualTo(epoch);
      assertThat(plan.getMonitors(0).getHost()).isEqualTo(host);
      return calls.add(new Call(command, host, epoch, plan.getQueuesList(), events));
    }

    @Override
    public boolean assign(
        String agent, String query, int epoch, Plan plan, AssignmentEvents events) {
      return add("assign", agent, epoch, plan, events);
    }

    @Override
    public boolean inherit(
        String agent, String query, int epoch, Plan plan, AssignmentEvents events) {
      return add("inherit", agent, epoch, plan, events);
    }

    @Override
    public void move(
        String oldHost,
        String newHost,
        String query,
        int epoch,
        Plan plan,
        AssignmentEvents events) {
      add("move from " + oldHost, newHost, epoch, plan, events);
    }

    @Override
    public void end(String agent, String query) {
      orders.add("end " + agent);
    }

    @Override
    public void forget(String agent, String query) {
      orders.add("forget " + agent);
    }

    @Override
    public void limit(String agent, String query, double rate) {
      orders.add("limit " + agent + " " + rate);
    }

    @Override
    public void credit(String agent, String query, long packets, long version) {
      orders.add("credit " + agent);
    }

    @Override
    public void triggers(String agent, String query, int epoch, TriggerSet set) {
      orders.add("triggers %s %d %s".formatted(agent, epoch, set.triggers().keySet()));
    }

    @Override
    public void mirrored(String agent, String query, int epoch) {}
  }

  /** A simulated network, whose packets are visible at the given hosts. */
  private static final class Network implements PartPlacement {
    volatile List<String> present = List.of("h1", "h2");
    volatile boolean unwritable;
    final BlockingQueue<List<String>> moved = new LinkedBlockingQueue<>();
    final CompletableFuture<Void> settled = new CompletableFuture<>();

    @Override
    public Optional<Map<String, Match>> current() {
      return Optional.of(Map.of(present.get(0), MATCH, present.get(1), MATCH));
    }

    @Override
    public Optional<Map<String, Match>> without(String host) {
      return current();
    }

    @Override
    public Optional<List<Queue>> moveQueues(List<Queue> queues, Set<String> used) {
      assertThat(used).containsExactly("h1");
      return present.stream()
          .filter(host -> !used.contains(host))
          .findFirst()
          .map(host -> List.of(queues.get(0).toBuilder().setHost(host).setMark(9).build()));
    }

    @Override
    public boolean narrow(int zeros) {
      return false;
    }

    @Override
    public boolean isMirrored() {
      return true;
    }

    @Override
    public CompletableFuture<Void> settled(Set<String> hosts) {
      return settled;
    }

    @Override
    public void record(List<Plan> parts) throws IOException {
      boolean fails = unwritable;
      moved.add(
          parts.stream()
              .map(part -> part.getMonitors(0).getHost() + " epoch " + part.getEpoch())
              .toList());
      if (fails) {
        throw new IOException("the store is unreachable");
      }
    }
  }

  private final Hosts hosts = new Hosts();
  private final Network network = new Network();
  private final BlockingQueue<String> ready = new LinkedBlockingQueue<>();
  private RemoteMonitors monitors;
  private Call first;
  private Call second;

  private static Plan part(String host, int partition) {
    return Plan.newBuilder()
        .setEpoch(1)
        .addMonitors(Monitor.newBuilder().setId(host).setHost(host).setPartition(partition))
        .build();
  }

  private void start(boolean inherited) throws Exception {
    List<Plan> parts = new ArrayList<>(List.of(part("h1", 0), part("h2", 1)));
    monitors =
        RemoteMonitors.start(
            hosts,
            "q",
            parts,
            inherited,
            new RemoteMonitors.Bounds(OptionalLong.empty(), 0),
            network,
            () -> ready.add("ready"));
    first = hosts.next();
    second = hosts.next();
  }

  private PipelineException failure() throws Exception {
    try {
      monitors.end().get(30, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      return (PipelineException) e.getCause();
    }
    throw new AssertionError("the query ended without a failure");
  }

  @Test
  void capturesWhenAllPartsCapture() throws Exception {
    start(false);
    assertThat(List.of(first.command(), first.host(), second.host()))
        .containsExactly("assign", "h1", "h2");
    first.events().running();
    first.events().running();
    second.events().running();
    assertThat(ready.poll(30, TimeUnit.SECONDS)).isEqualTo("ready");
    second.events().running();
    assertThat(ready.poll(500, TimeUnit.MILLISECONDS)).as("once").isNull();
  }

  @Test
  void endsOnceAllPartsHaveEnded() throws Exception {
    start(false);
    first.events().ended(DONE);
    first.events().ended(DONE);
    assertThat(monitors.end()).isNotDone();
    second.events().ended(DONE);
    assertThat(monitors.end()).isCompleted();
  }

  /** Tests a restarted host: its part starts again, and reports of the old epoch are ignored. */
  @Test
  void reportsOfAnOlderEpochAreIgnored() throws Exception {
    start(false);
    first.events().lost("restarted");
    Call repeatedCall = hosts.next();
    assertThat(repeatedCall.command()).isEqualTo("move from h1");
    assertThat(repeatedCall.host()).isEqualTo("h1");
    assertThat(repeatedCall.epoch()).isEqualTo(2);
    assertThat(network.moved.poll()).containsExactly("h1 epoch 2", "h2 epoch 1");

    second.events().ended(DONE);
    first.events().ended(DONE);
    assertThat(monitors.end()).as("the part's new monitor continues").isNotDone();
    first.events().failed("user", "of an earlier epoch");
    assertThat(monitors.end()).isNotDone();
    repeatedCall.events().ended(DONE);
    assertThat(monitors.end()).isCompleted();
  }

  @Test
  void triggersFollowAPartThatMoves() throws Exception {
    start(false);
    List<Long> responses = new ArrayList<>();
    monitors.triggers(
        new TriggerSet(1, Map.of()), response -> responses.add(response.getVersion()));
    assertThat(hosts.orders).containsExactly("triggers h1 1 []", "triggers h2 1 []");
    hosts.orders.clear();
    first.events().lost("restarted");
    Call repeatedCall = hosts.next();
    assertThat(hosts.orders.poll(30, TimeUnit.SECONDS)).isEqualTo("triggers h1 2 []");
    first.events().triggers(MonitorStatus.Triggers.newBuilder().setVersion(7).build());
    repeatedCall.events().triggers(MonitorStatus.Triggers.newBuilder().setVersion(1).build());
    assertThat(responses).as("those of the part's epoch").containsExactly(1L);
  }

  @Test
  void awaitsAPartOnItsActualHost() throws Exception {
    start(false);
    network.present = List.of("h2", "h3");
    first.events().disconnected();
    Call repeatedCall = hosts.next();
    assertThat(repeatedCall.command()).isEqualTo("move from h1");
    assertThat(repeatedCall.host()).isEqualTo("h3");
    assertThat(network.moved.poll()).containsExactly("h3 epoch 2", "h2 epoch 1");
    first.events().running();
    second.events().running();
    repeatedCall.events().running();
    assertThat(ready.poll(30, TimeUnit.SECONDS)).isEqualTo("ready");
    assertThat(monitors.limit(0.5)).isEqualTo(0.5);
    assertThat(hosts.orders).containsExactly("limit h3 0.5", "limit h2 0.5");
  }

  /** Tests that a lost host's queue moves as a whole: one monitor must see both of its sides. */
  @Test
  void theQueuesOfALostHostMoveTogether() throws Exception {
    Queue queue =
        Queue.newBuilder().setSwitchName("s1").setPort("2").setHost("h1").setMark(1).build();
    network.present = List.of("h1", "h3");
    monitors =
        RemoteMonitors.start(
            hosts,
            "q",
            List.of(part("h1", 0).toBuilder().addQueues(queue).build()),
            false,
            new RemoteMonitors.Bounds(OptionalLong.empty(), 0),
            network,
            () -> ready.add("ready"));
    hosts.next().events().disconnected();
    Call repeatedCall = hosts.next();
    assertThat(repeatedCall.command()).isEqualTo("move from h1");
    assertThat(repeatedCall.host()).isEqualTo("h3");
    assertThat(repeatedCall.queues())
        .containsExactly(queue.toBuilder().setHost("h3").setMark(9).build());
    assertThat(network.moved.poll()).containsExactly("h3 epoch 2");
    repeatedCall.events().running();
    assertThat(ready.poll(30, TimeUnit.SECONDS)).isEqualTo("ready");
  }

  /**
   * Tests that an assignment that can't be recorded is not sent, and that the next one reuses its
   * epoch.
   */
  @Test
  void assignmentsThatCantBeRecordedAreNotSent() throws Exception {
    start(false);
    network.unwritable = true;
    first.events().lost("restarted");
    assertThat(network.moved.poll(30, TimeUnit.SECONDS)).contains("h1 epoch 2");
    network.unwritable = false;
    first.events().lost("once more");
    Call repeatedCall = hosts.next();
    assertThat(repeatedCall.epoch()).isEqualTo(2);
    assertThat(network.moved.poll()).as("finally recorded").contains("h1 epoch 2");
    assertThat(hosts.calls).isEmpty();
  }

  @Test
  void packetsInFlightAreAwaitedBeforeTheEnd() throws Exception {
    start(false);
    monitors.stop();
    monitors.stop();
    assertThat(hosts.orders).isEmpty();
    network.settled.complete(null);
    assertThat(hosts.orders).containsOnly("end h1", "end h2");
    second.events().ended(DONE);
    // A part that is lost while its query stops can't be resumed.
    first.events().lost("restarted");
    assertThat(failure().kind()).isEqualTo(Kind.RESOURCES);
    assertThat(hosts.calls).isEmpty();
  }

  /** Tests lost parts whose ends may have been reported to the previous control plane. */
  @Test
  void stoppingEndsAMissingInheritedPart() throws Exception {
    start(true);
    assertThat(first.command()).isEqualTo("inherit");
    monitors.stop();
    first.events().lost("unknown");
    assertThat(monitors.end()).isNotDone();
    second.events().lost("unknown");
    assertThat(monitors.end()).isCompleted();
  }

  @Test
  void theFaultOfAFailureIsPassedOn() throws Exception {
    for (Map.Entry<String, Kind> entry :
        Map.of("user", Kind.USER, "resources", Kind.RESOURCES, "internal", Kind.INTERNAL)
            .entrySet()) {
      start(false);
      second.events().failed(entry.getKey(), "why");
      assertThat(failure().kind()).isEqualTo(entry.getValue());
      assertThat(failure()).hasMessage("why");
    }
  }

  @Test
  void killedPartsAreForgotten() throws Exception {
    start(false);
    monitors.kill();
    assertThat(hosts.orders).containsExactly("forget h1", "forget h2");
    assertThat(monitors.killed()).isTrue();
    assertThat(failure().kind()).isEqualTo(Kind.RESOURCES);
    first.events().lost("restarted");
    assertThat(hosts.calls).isEmpty();
  }

  @Test
  void startsNoQueryWithoutHosts() throws Exception {
    monitors =
        RemoteMonitors.start(
            hosts,
            "q",
            List.of(),
            false,
            new RemoteMonitors.Bounds(OptionalLong.empty(), 0),
            network,
            () -> {});
    assertThat(failure().kind()).isEqualTo(Kind.RESOURCES);
  }
}
