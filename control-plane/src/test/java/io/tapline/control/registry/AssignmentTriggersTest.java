package io.tapline.control.registry;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Status;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.rpc.Assignment;
import io.tapline.schema.rpc.TriggersCommand;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tests changes to a running query's triggers with simulated agents. */
class AssignmentTriggersTest extends LiveRegistry {
  private final RecordedEvents events = new RecordedEvents();

  private static TriggerSet set(long version, int... numbers) {
    Map<Integer, PacketTrigger> triggers = new TreeMap<>();
    for (int number : numbers) {
      triggers.put(
          number, PacketTrigger.newBuilder().setProcessor(number).setParser("packets").build());
    }
    return new TriggerSet(version, triggers);
  }

  /** Connects an agent, and assigns it the query with triggers 0 to 2 as version 1. */
  private Peer running() throws Exception {
    Peer peer = peer("h1", 1);
    registry.assign("h1", "q", 3, PLAN, events);
    assertThat(peer.next().hasAssign()).isTrue();
    registry.triggers("h1", "q", 3, set(1, 0, 1, 2));
    assertThat(numbers(peer.next().getTriggers())).containsExactlyInAnyOrder(0, 1, 2);
    return peer;
  }

  private static Set<Integer> numbers(TriggersCommand command) {
    return command.getAddList().stream()
        .map(PacketTrigger::getProcessor)
        .collect(Collectors.toSet());
  }

  private Peer reconnect(Peer peer, long version) throws Exception {
    peer.out.onError(Status.CANCELLED.asException());
    awaitUp("h1", false);
    Assignment assignment =
        Assignment.newBuilder().setQuery("q").setEpoch(3).setTriggersVersion(version).build();
    Peer next = peer("h1", 1, assignment);
    assertThat(next.next().hasAssign()).isTrue();
    return next;
  }

  @Test
  void onlyChangesAreSentToAHostThatHasTheRest() throws Exception {
    Peer peer = running();
    registry.triggers("h1", "q", 2, set(5, 9));
    registry.triggers("h1", "q", 3, set(7, 1, 2, 8));
    TriggersCommand change = peer.next().getTriggers();
    assertThat(change.getEpoch()).as("another epoch is ignored").isEqualTo(3);
    assertThat(change.getVersion()).isEqualTo(7);
    assertThat(change.getBase()).isEqualTo(1);
    assertThat(change.getRemoveList()).containsExactly(0);
    assertThat(numbers(change)).containsExactly(8);
    peer.status("{\"event\":\"triggers\",\"query\":\"q\",\"version\":7,\"since_ns\":5}", 3);
    assertThat(events.next()).isEqualTo("triggers 7");
  }

  @Test
  void aHostThatReconnectsGetsAllIfItHasAnotherVersion() throws Exception {
    Peer peer = reconnect(running(), 1);
    registry.triggers("h1", "q", 3, set(2, 0));
    assertThat(peer.next().getTriggers().getBase()).as("it had version 1").isEqualTo(1);
    peer.out.onError(Status.CANCELLED.asException());
    awaitUp("h1", false);
    registry.triggers("h1", "q", 3, set(3, 0, 4));
    Assignment assignment =
        Assignment.newBuilder().setQuery("q").setEpoch(3).setTriggersVersion(2).build();
    Peer late = peer("h1", 1, assignment);
    assertThat(late.next().hasAssign()).isTrue();
    TriggersCommand all = late.next().getTriggers();
    assertThat(all.hasBase()).isFalse();
    assertThat(all.getVersion()).isEqualTo(3);
    assertThat(numbers(all)).containsExactlyInAnyOrder(0, 4);
  }

  @Test
  void anAgentThatIsOlderThanTheCommandGetsNone() throws Exception {
    Peer old = Peer.of(channel);
    old.changesTriggers = false;
    old.hello("h1", 1);
    assertThat(old.next().hasWelcome()).isTrue();
    assertThat(awaitUp("h1", true).changesTriggers()).isFalse();
    registry.assign("h1", "q", 3, PLAN, events);
    assertThat(old.next().hasAssign()).isTrue();
    registry.triggers("h1", "q", 3, set(1, 0, 1, 2));
    registry.mirrored("h1", "q", 3);
    assertThat(old.next().hasMirrored()).as("the next command").isTrue();
    Peer upgraded = reconnect(old, 0);
    assertThat(upgraded.next().hasMirrored()).isTrue();
    assertThat(numbers(upgraded.next().getTriggers())).containsExactlyInAnyOrder(0, 1, 2);
    assertThat(awaitUp("h1", true).changesTriggers()).isTrue();
  }

  @Test
  void anUnrelatedRefusalIsAnsweredOnceWithAllTriggers() throws Exception {
    Peer peer = running();
    String refusal =
        "{\"event\":\"triggers\",\"query\":\"q\",\"version\":1,\"message\":\"no\",\"kind\":\"%s\"}";
    peer.status(refusal.formatted("internal"), 3);
    TriggersCommand all = peer.next().getTriggers();
    assertThat(all.hasBase()).isFalse();
    assertThat(all.getVersion()).isEqualTo(1);
    peer.status(refusal.formatted("internal"), 3);
    assertThat(events.next()).isEqualTo("triggers 1 no");
    registry.triggers("h1", "q", 3, set(2, 0));
    assertThat(peer.next().getTriggers().hasBase()).as("the host's set is unknown").isFalse();
    peer.status(refusal.formatted("user").replace("1", "2"), 3);
    assertThat(events.next()).isEqualTo("triggers 2 no");
  }

  @Test
  void manyTriggersAreSentInParts() {
    TriggerSet largeSet = set(1, IntStream.range(0, 16_384).toArray());
    List<TriggersCommand> parts = new ArrayList<>(largeSet.all("q", 3));
    assertThat(parts).hasSizeGreaterThan(1);
    Set<Integer> sent = new HashSet<>();
    for (int i = 0; i < parts.size(); i++) {
      assertThat(parts.get(i).getSerializedSize()).isLessThan(192 << 10);
      assertThat(parts.get(i).getMore()).isEqualTo(i + 1 < parts.size());
      assertThat(sent.addAll(numbers(parts.get(i)))).isTrue();
    }
    assertThat(sent).hasSize(16_384);
  }
}
