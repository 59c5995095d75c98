package io.tapline.control.registry;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Status;
import io.grpc.Status.Code;
import io.tapline.schema.Plans;
import io.tapline.schema.rpc.AgentCommand;
import io.tapline.schema.rpc.Assignment;
import io.tapline.schema.rpc.MirroredCommand;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests query assignments that simulated agents run. */
class AssignmentsTest extends LiveRegistry {
  @Test
  void anAssignmentPassesThroughAllStates() throws Exception {
    Peer peer = peer("h1", 1);
    AgentCommand assign = livesOnce(peer);
    assertThat(assign.getAssign().getPlan()).isEqualTo(PLAN);
    assertThat(assign.getAssign().getPlanJson()).isEmpty();
  }

  @Test
  void anAssignmentToAnOlderAgentPassesThroughAllStates() throws Exception {
    Peer peer = Peer.of(channel);
    peer.protocol = 0;
    peer.hello("h1", 1);
    assertThat(peer.next().getWelcome().getProtocol()).isEqualTo(1);
    AgentCommand assign = livesOnce(peer);
    assertThat(assign.getAssign().hasPlan()).isFalse();
    assertThat(Plans.fromJson(assign.getAssign().getPlanJson())).isEqualTo(PLAN);
  }

  @Test
  void invalidMessagesOfAnOlderAgentAffectNoLease() throws Exception {
    Peer peer = Peer.of(channel);
    peer.protocol = 0;
    peer.hello("h1", 1);
    peer.next();
    for (String json :
        List.of("no JSON", "[]", "7", "{}", "{\"event\":7}", "{\"event\":\"new\"}")) {
      peer.status(json, 0);
    }
    peer.status("{\"event\":\"credits\",\"query\":\"q\",\"taken\":\"many\"}", 3);
    livesOnce(peer);
  }

  /** Assigns a query, lets it run to its end, and returns the command that assigned it. */
  private AgentCommand livesOnce(Peer peer) throws Exception {
    RecordedEvents events = new RecordedEvents();
    assertThat(registry.assign("h1", "q", 3, PLAN, events)).isTrue();
    assertThat(registry.assign("h1", "q", 3, PLAN, events)).isFalse();
    AgentCommand assign = peer.next();
    assertThat(assign.getAssign().getQuery()).isEqualTo("q");
    assertThat(assign.getAssign().getEpoch()).isEqualTo(3);
    peer.status("{\"event\":\"query_added\",\"query\":\"q\"}", 3);
    assertThat(events.next()).isEqualTo("running");
    registry.limit("h1", "q", 0.25);
    assertThat(peer.next().getLimit().getRate()).isEqualTo(0.25);
    registry.credit("h1", "q", 500, 7);
    assertThat(peer.next().getCredit().getPackets()).isEqualTo(500);
    peer.status("{\"event\":\"credits\",\"query\":\"q\",\"taken\":250}", 3);
    assertThat(events.next()).isEqualTo("credits 250");
    registry.end("h1", "q");
    assertThat(peer.next().getEnd().getQuery()).isEqualTo("q");
    peer.status("{\"event\":\"query_ended\",\"query\":\"q\",\"accounting\":{\"packets_in\":7}}", 3);
    assertThat(events.next()).isEqualTo("ended 7");
    assertThat(peer.next().getEnd().getQuery()).as("acknowledges the query's end").isEqualTo("q");
    assertThat(awaitUp("h1", true).queries()).isEmpty();
    return assign;
  }

  @Test
  void earlyAssignmentsWaitForTheAgent() throws Exception {
    RecordedEvents events = new RecordedEvents();
    registry.assign("late", "q", 1, PLAN, events);
    registry.limit("late", "q", 0.5);
    Peer peer = peer("late", 1);
    assertThat(peer.next().getAssign().getQuery()).isEqualTo("q");
    assertThat(peer.next().getLimit().getRate())
        .as("sent while the agent was disconnected")
        .isEqualTo(0.5);
    assertThat(events.words).isEmpty();
  }

  /** Tests an agent that reconnects, as it may not know yet that switches copy its packets. */
  @Test
  void reportsCopyingForTheAssignedEpochAndAfterReconnecting() throws Exception {
    Peer first = peer("h1", 1);
    registry.assign("h1", "q", 2, PLAN, new RecordedEvents());
    assertThat(first.next().hasAssign()).isTrue();
    registry.mirrored("h1", "q", 1);
    registry.mirrored("h1", "q", 2);
    assertThat(first.next().getMirrored())
        .isEqualTo(MirroredCommand.newBuilder().setQuery("q").setEpoch(2).build());
    first.out.onError(Status.CANCELLED.asException());
    awaitUp("h1", false);
    Peer reconnected = peer("h1", 1, Assignment.newBuilder().setQuery("q").setEpoch(2).build());
    assertThat(reconnected.next().hasAssign()).isTrue();
    assertThat(reconnected.next().getMirrored().getEpoch()).isEqualTo(2);
  }

  @Test
  void reportsOfAnOlderEpochAreIgnored() throws Exception {
    Peer peer = peer("h1", 1);
    RecordedEvents events = new RecordedEvents();
    registry.assign("h1", "q", 2, PLAN, events);
    peer.status("{\"event\":\"query_ended\",\"query\":\"q\"}", 1);
    peer.status("{\"event\":\"query_added\",\"query\":\"q\"}", 2);
    assertThat(events.next()).isEqualTo("running");
  }

  @Test
  void aReconnectedAgentResumesAndEndsUnownedParts() throws Exception {
    Peer first = peer("h1", 1);
    RecordedEvents events = new RecordedEvents();
    registry.assign("h1", "wanted", 1, PLAN, events);
    first.next();
    first.out.onError(Status.CANCELLED.asException());
    awaitUp("h1", false);
    Peer reconnected =
        peer(
            "h1",
            1,
            Assignment.newBuilder().setQuery("unwanted").setEpoch(1).build(),
            Assignment.newBuilder().setQuery("wanted").setEpoch(1).build());
    AgentCommand end = reconnected.next();
    assertThat(end.getEnd().getQuery()).isEqualTo("unwanted");
    assertThat(end.getEnd().getAbandon()).as("others may resume it").isTrue();
    assertThat(reconnected.next().getAssign().getQuery()).isEqualTo("wanted");
    assertThat(events.words).isEmpty();
  }

  @Test
  void aRestartedAgentHasLostItsParts() throws Exception {
    Peer first = peer("h1", 1);
    RecordedEvents events = new RecordedEvents();
    registry.assign("h1", "q", 1, PLAN, events);
    first.next();
    peer("h1", 2);
    assertThat(events.next()).startsWith("lost: the agent of h1 was restarted");
    assertThat(first.endOfStream().getCode()).isEqualTo(Code.ABORTED);
  }

  @Test
  void inheritedPartsContinueOnTheirHostsAndAreLostElsewhere() throws Exception {
    RecordedEvents resumed = new RecordedEvents();
    RecordedEvents isLost = new RecordedEvents();
    registry.inherit("h1", "has", 2, PLAN, resumed);
    registry.inherit("h1", "has-not", 2, PLAN, isLost);
    Peer peer = peer("h1", 5, Assignment.newBuilder().setQuery("has").setEpoch(2).build());
    assertThat(peer.next().getAssign().getQuery()).isEqualTo("has");
    assertThat(isLost.next()).startsWith("lost: the agent of h1 was restarted");
    peer.status("{\"event\":\"query_added\",\"query\":\"has\"}", 2);
    assertThat(resumed.next()).isEqualTo("running");
  }

  @Test
  void aMovedQueryIsAbandonedOnItsOldHostAndAssignedToItsNewOne() throws Exception {
    Peer oldHost = peer("h1", 1);
    Peer newHost = peer("h2", 1);
    RecordedEvents events = new RecordedEvents();
    registry.assign("h1", "q", 1, PLAN, events);
    assertThat(oldHost.next().hasAssign()).isTrue();
    registry.move("h1", "h2", "q", 2, PLAN, events);
    assertThat(oldHost.next().getEnd().getAbandon()).isTrue();
    assertThat(newHost.next().getAssign().getEpoch()).isEqualTo(2);
    registry.move("h2", "h2", "q", 3, PLAN, events);
    assertThat(events.next()).startsWith("failed internal: h2 already has a part of q");
  }

  @Test
  void theDeathOfAMonitorIsReported() throws Exception {
    Peer peer = peer("h1", 1);
    RecordedEvents events = new RecordedEvents();
    registry.assign("h1", "q", 1, PLAN, events);
    peer.status("{\"event\":\"monitor_ended\",\"message\":\"killed by signal 9\"}", 0);
    assertThat(events.next()).isEqualTo("warning h1: killed by signal 9");
    peer.status("{\"event\":\"query_ended\",\"query\":\"q\",\"lost\":true}", 1);
    assertThat(events.next())
        .isEqualTo("lost: the monitor of h1 was lost before it had sent everything");
  }

  @Test
  void aSilentAgentLosesItsLeaseAndThenItsAssignments() throws Exception {
    registry.close();
    registry = registry(Duration.ofMillis(300), Duration.ofMillis(100), Duration.ofMillis(600));
    channel.shutdownNow();
    channel = channel(registry);
    Peer peer = peer("h1", 1);
    RecordedEvents events = new RecordedEvents();
    registry.assign("h1", "q", 1, PLAN, events);
    peer.mute = true;
    assertThat(peer.endOfStream().getCode()).isEqualTo(Code.DEADLINE_EXCEEDED);
    assertThat(events.next()).isEqualTo("away");
    assertThat(events.next()).contains("h1", "did not return");
  }

  @Test
  void sendsAPendingEndWhenTheAgentReconnects() throws Exception {
    Peer first = peer("h1", 1);
    RecordedEvents events = new RecordedEvents();
    registry.assign("h1", "q", 1, PLAN, events);
    first.next();
    first.out.onError(Status.CANCELLED.asException());
    awaitUp("h1", false);
    registry.end("h1", "q");
    Peer reconnected = peer("h1", 1, Assignment.newBuilder().setQuery("q").setEpoch(1).build());
    assertThat(reconnected.next().getAssign().getQuery()).isEqualTo("q");
    AgentCommand end = reconnected.next();
    assertThat(end.getEnd().getQuery()).isEqualTo("q");
    assertThat(end.getEnd().getAbandon()).isFalse();
    reconnected.status("{\"event\":\"query_ended\",\"query\":\"q\"}", 1);
    assertThat(events.next()).startsWith("ended");
  }

  @Test
  void forgottenPartsEndWhenTheAgentReturns() throws Exception {
    Peer first = peer("h1", 1);
    RecordedEvents events = new RecordedEvents();
    registry.assign("h1", "q", 1, PLAN, events);
    first.next();
    first.out.onError(Status.CANCELLED.asException());
    awaitUp("h1", false);
    registry.forget("h1", "q");
    Peer reconnected = peer("h1", 1, Assignment.newBuilder().setQuery("q").setEpoch(1).build());
    assertThat(reconnected.next().getEnd().getQuery()).isEqualTo("q");
    assertThat(events.words).isEmpty();
  }
}
