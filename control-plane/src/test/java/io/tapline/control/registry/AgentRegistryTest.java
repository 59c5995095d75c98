package io.tapline.control.registry;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Status;
import io.grpc.Status.Code;
import io.tapline.flink.Login;
import io.tapline.schema.rpc.AgentHello;
import io.tapline.schema.rpc.AgentMessage;
import io.tapline.schema.rpc.Welcome;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tests simulated agents that join, leave and are refused. */
class AgentRegistryTest extends LiveRegistry {
  @Test
  void anAgentReportsItsTaps() throws Exception {
    peer("h1", 1);
    assertThat(awaitUp("h1", true).taps())
        .containsExactly(new AgentTap("sw1", "2", "departures", "eth0"));
  }

  @Test
  void loginsOfABrokerGoOnlyToCapableAgents() throws Exception {
    for (String name : List.of("h1", "control", "job-q1")) {
      logins.put(name, new Login(name, "a-password"));
    }
    Peer oldPeer = Peer.of(channel);
    oldPeer.hello("h1", 1);
    assertThat(oldPeer.endOfStream().getDescription())
        .contains("broker requires a login", "update tapline-agent on h1");
    for (String otherName : List.of("control", "job-q1")) {
      Peer peer = Peer.of(channel);
      peer.helloWithLogin(otherName);
      assertThat(peer.endOfStream().getDescription()).contains("the name of another broker user");
    }
    Peer one = Peer.of(channel);
    one.helloWithLogin("h1");
    Welcome welcome = one.next().getWelcome();
    assertThat(welcome.getBrokerUser()).isEqualTo("h1");
    assertThat(welcome.getBrokerPassword()).isEqualTo("a-password");
  }

  @Test
  void leasesAreReportedInOrder() throws Exception {
    Peer first = Peer.of(channel);
    AgentHello hello =
        AgentHello.newBuilder()
            .setAgent("h1")
            .setIncarnation(1)
            .setMultilog("10.0.0.1:7400")
            .build();
    first.say(AgentMessage.newBuilder().setHello(hello));
    assertThat(lease()).isEqualTo("h1 up, node '10.0.0.1:7400'");
    first.out.onError(Status.CANCELLED.asException());
    assertThat(lease()).isEqualTo("h1 lost");
    Peer reconnected = peer("h1", 1);
    assertThat(lease()).isEqualTo("h1 up, node ''");
    peer("h1", 2);
    assertThat(reconnected.endOfStream().getCode()).isEqualTo(Code.ABORTED);
    assertThat(lease()).as("no gap between the two").isEqualTo("h1 up, node ''");
    assertThat(leases).isEmpty();
  }

  @Test
  void anAgentThatWasStartedEarlierIsRejected() throws Exception {
    peer("h1", 7);
    Peer older = Peer.of(channel);
    older.hello("h1", 6);
    assertThat(older.endOfStream().getCode()).isEqualTo(Code.ALREADY_EXISTS);
    assertThat(awaitUp("h1", true).up()).isTrue();
  }

  @Test
  void anAgentThatHasSeenALaterTermIsDeclined() throws Exception {
    Peer peer = Peer.of(channel);
    peer.say(
        AgentMessage.newBuilder()
            .setHello(AgentHello.newBuilder().setAgent("h1").setIncarnation(1).setTerm(TERM + 1)));
    assertThat(peer.endOfStream().getCode()).isEqualTo(Code.FAILED_PRECONDITION);
  }

  @Test
  void clocksAreMeasured() throws Exception {
    peer("h1", 1);
    long end = System.nanoTime() + SECONDS * 1_000_000_000L;
    AgentState state = awaitUp("h1", true);
    while (state.clock() == null && System.nanoTime() < end) {
      Thread.sleep(20);
      state = awaitUp("h1", true);
    }
    // The host's clock is 5 s ahead, and the host seems to respond without delay.
    assertThat(state.clock().offsetNs() - 5_000_000_000L)
        .isBetween(-state.clock().errorNs(), state.clock().errorNs());
    assertThat(state.cores()).isEqualTo(4);
  }

  @Test
  void invalidMessagesEndOnlyTheirStream() throws Exception {
    Peer goodPeer = peer("h1", 1);
    Peer silentPeer = Peer.of(channel);
    silentPeer.status("{}", 0);
    assertThat(silentPeer.endOfStream().getCode()).isEqualTo(Code.INVALID_ARGUMENT);
    for (String name : List.of("", "UPPER", "a b", "x".repeat(65))) {
      Peer bad = Peer.of(channel);
      bad.hello(name, 1);
      assertThat(bad.endOfStream().getCode()).as(name).isEqualTo(Code.INVALID_ARGUMENT);
    }
    RecordedEvents events = new RecordedEvents();
    registry.assign("h1", "q", 1, PLAN, events);
    assertThat(goodPeer.next().hasAssign()).isTrue();
    goodPeer.status("no JSON", 0);
    goodPeer.status("{\"event\":\"query_ended\",\"query\":\"unknown\"}", 9);
    goodPeer.status("[1]", 0);
    goodPeer.status(
        "{\"event\":\"query_refused\",\"query\":\"q\",\"kind\":\"user\",\"message\":\"no\"}", 1);
    assertThat(events.next()).isEqualTo("failed user: h1: no");
  }

  private String lease() throws InterruptedException {
    String event = leases.poll(SECONDS, TimeUnit.SECONDS);
    assertThat(event).as("notification of a lease").isNotNull();
    return event;
  }
}
