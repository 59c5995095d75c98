package io.tapline.control.registry;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.stub.StreamObserver;
import io.tapline.control.HashKey;
import io.tapline.control.HashKeys;
import io.tapline.flink.Login;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.rpc.AgentCommand;
import io.tapline.schema.rpc.AgentHeartbeat;
import io.tapline.schema.rpc.AgentHello;
import io.tapline.schema.rpc.AgentMessage;
import io.tapline.schema.rpc.Assignment;
import io.tapline.schema.rpc.MirroredCommand;
import io.tapline.schema.rpc.MonitorStatus;
import io.tapline.schema.rpc.QueryAccounting;
import io.tapline.schema.rpc.RegistryGrpc;
import io.tapline.schema.rpc.Tap;
import io.tapline.schema.rpc.Welcome;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Simulated agents exchange messages with a registry over real connections. */
class AgentRegistryTest {
  private static final long TERM = 100;
  private static final HashKeys KEYS =
      new HashKeys(
          HashKey.of("00112233445566778899aabbccddeeff"),
          HashKey.of("ffeeddccbbaa99887766554433221100"));
  private static final int SECONDS = 30;
  private static final Plan PLAN = Plan.newBuilder().setQuery("q").setEpoch(3).build();

  private final BlockingQueue<String> leases = new LinkedBlockingQueue<>();
  private AgentRegistry registry;
  private final Map<String, Login> logins = new ConcurrentHashMap<>();
  private ManagedChannel channel;

  @BeforeEach
  void start() throws Exception {
    registry =
        registry(
            Duration.ofSeconds(SECONDS), Duration.ofSeconds(SECONDS), Duration.ofSeconds(SECONDS));
    channel = channel(registry);
  }

  private AgentRegistry registry(Duration lease, Duration away, Duration grace) throws Exception {
    return AgentRegistry.start(
        new RegistryOptions(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            TERM,
            "broker:9092",
            KEYS,
            host -> logins.getOrDefault(host, Login.NONE),
            Duration.ofMillis(20),
            lease,
            away,
            grace),
        new LeaseListener() {
          @Override
          public void up(String agent, String multilog) {
            leases.add(agent + " up, node '" + multilog + "'");
          }

          @Override
          public void lost(String agent) {
            leases.add(agent + " lost");
          }

          @Override
          public void forgotten(String agent) {
            leases.add(agent + " forgotten");
          }
        });
  }

  private static ManagedChannel channel(AgentRegistry to) {
    return Grpc.newChannelBuilder("127.0.0.1:" + to.port(), InsecureChannelCredentials.create())
        .build();
  }

  @AfterEach
  void stop() {
    channel.shutdownNow();
    registry.close();
  }

  /**
   * An agent that answers probes, unless disabled, and records everything else that it receives.
   */
  private static final class Peer implements StreamObserver<AgentCommand> {
    final BlockingQueue<AgentCommand> heard = new LinkedBlockingQueue<>();
    final BlockingQueue<Status> end = new LinkedBlockingQueue<>();
    volatile boolean mute;
    volatile int protocol = 1;
    volatile StreamObserver<AgentMessage> out;

    static Peer of(ManagedChannel channel) {
      Peer peer = new Peer();
      peer.out = RegistryGrpc.newStub(channel).lease(peer);
      return peer;
    }

    synchronized void say(AgentMessage.Builder message) {
      out.onNext(message.build());
    }

    void hello(String name, long incarnation, Assignment... running) {
      say(
          AgentMessage.newBuilder()
              .setHello(
                  AgentHello.newBuilder()
                      .setAgent(name)
                      .setIncarnation(incarnation)
                      .setInterface("eth0")
                      .addTaps(
                          Tap.newBuilder()
                              .setSwitchName("sw1")
                              .setPort("2")
                              .setSide(Tap.Side.DEPARTURES)
                              .setInterface("eth0"))
                      .setProtocol(protocol)
                      .addAllAssignments(List.of(running))));
    }

    void helloWithLogin(String name) {
      say(
          AgentMessage.newBuilder()
              .setHello(AgentHello.newBuilder().setAgent(name).setIncarnation(1).setLogsIn(true)));
    }

    /** Sends an event as agents of its protocol do. */
    void status(String json, int epoch) {
      MonitorStatus old = MonitorStatus.newBuilder().setJson(json).setEpoch(epoch).build();
      say(AgentMessage.newBuilder().setStatus(protocol == 0 ? old : EventJson.read(old)));
    }

    AgentCommand next() throws InterruptedException {
      AgentCommand command = heard.poll(SECONDS, TimeUnit.SECONDS);
      assertThat(command).as("a command").isNotNull();
      assertThat(command.getTerm()).isEqualTo(TERM);
      return command;
    }

    Status endOfStream() throws InterruptedException {
      Status status = end.poll(SECONDS, TimeUnit.SECONDS);
      assertThat(status).as("the end of the stream").isNotNull();
      return status;
    }

    @Override
    public void onNext(AgentCommand command) {
      if (!command.hasProbe()) {
        heard.add(command);
      } else if (!mute) {
        long aheadNs = command.getProbe().getSentNs() + 5_000_000_000L;
        say(
            AgentMessage.newBuilder()
                .setHeartbeat(
                    AgentHeartbeat.newBuilder()
                        .setProbeSentNs(command.getProbe().getSentNs())
                        .setReceivedNs(aheadNs)
                        .setSentNs(aheadNs)
                        .setLoad(0.5)
                        .setCores(4)));
      }
    }

    @Override
    public void onError(Throwable broken) {
      end.add(Status.fromThrowable(broken));
    }

    @Override
    public void onCompleted() {
      end.add(Status.OK);
    }
  }

  /** Records the events of a query as strings. */
  private static final class Heard implements AssignmentEvents {
    final BlockingQueue<String> words = new LinkedBlockingQueue<>();

    @Override
    public void running() {
      words.add("running");
    }

    @Override
    public void credits(MonitorStatus.Credits usage) {
      words.add("credits " + usage.getTaken());
    }

    @Override
    public void limited(double rate) {
      words.add("limited " + rate);
    }

    @Override
    public void ended(QueryAccounting accounting) {
      words.add("ended " + accounting.getPacketsIn());
    }

    @Override
    public void failed(String kind, String reason) {
      words.add("failed " + kind + ": " + reason);
    }

    @Override
    public void lost(String reason) {
      words.add("lost: " + reason);
    }

    @Override
    public void away() {
      words.add("away");
    }

    @Override
    public void warning(String message) {
      words.add("warning " + message);
    }

    String next() throws InterruptedException {
      String word = words.poll(SECONDS, TimeUnit.SECONDS);
      assertThat(word).as("an event").isNotNull();
      return word;
    }
  }

  private AgentState awaitUp(String name, boolean up) throws InterruptedException {
    long end = System.nanoTime() + SECONDS * 1_000_000_000L;
    while (System.nanoTime() < end) {
      for (AgentState state : registry.states()) {
        if (state.name().equals(name) && state.up() == up) {
          return state;
        }
      }
      Thread.sleep(10);
    }
    throw new AssertionError(name + " does not become " + (up ? "up" : "down"));
  }

  private Peer peer(String name, long incarnation, Assignment... running) throws Exception {
    Peer peer = Peer.of(channel);
    peer.hello(name, incarnation, running);
    Welcome welcome = peer.next().getWelcome();
    assertThat(welcome.getBrokers()).isEqualTo("broker:9092");
    assertThat(welcome.getHashKey()).isEqualTo(KEYS.flows().digits());
    assertThat(welcome.getTextKey()).isEqualTo(KEYS.texts().digits());
    return peer;
  }

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
    Peer old = Peer.of(channel);
    old.hello("h1", 1);
    assertThat(old.endOfStream().getDescription())
        .contains("broker requires a login", "update tapline-agent on h1");
    for (String other : List.of("control", "job-q1")) {
      Peer peer = Peer.of(channel);
      peer.helloWithLogin(other);
      assertThat(peer.endOfStream().getDescription()).contains("a different user at the broker");
    }
    Peer one = Peer.of(channel);
    one.helloWithLogin("h1");
    Welcome welcome = one.next().getWelcome();
    assertThat(welcome.getBrokerUser()).isEqualTo("h1");
    assertThat(welcome.getBrokerPassword()).isEqualTo("a-password");
  }

  @Test
  void anAssignmentPassesThroughAllStates() throws Exception {
    Peer peer = peer("h1", 1);
    AgentCommand assign = livesOnce(peer);
    assertThat(assign.getAssign().getPlan()).isEqualTo(PLAN);
    assertThat(assign.getAssign().getPlanJson()).isEmpty();
  }

  @Test
  void anAssignmentOfAnOlderAgentPassesThroughAllStates() throws Exception {
    Peer peer = Peer.of(channel);
    peer.protocol = 0;
    peer.hello("h1", 1);
    assertThat(peer.next().getWelcome().getProtocol()).isEqualTo(1);
    AgentCommand assign = livesOnce(peer);
    assertThat(assign.getAssign().hasPlan()).isFalse();
    assertThat(Plans.fromJson(assign.getAssign().getPlanJson())).isEqualTo(PLAN);
  }

  @Test
  void invalidMessagesOfAnOlderAgentKeepTheLease() throws Exception {
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

  /** Returns the command that assigned it. */
  private AgentCommand livesOnce(Peer peer) throws Exception {
    Heard heard = new Heard();
    assertThat(registry.assign("h1", "q", 3, PLAN, heard)).isTrue();
    assertThat(registry.assign("h1", "q", 3, PLAN, heard)).isFalse();
    AgentCommand assign = peer.next();
    assertThat(assign.getAssign().getQuery()).isEqualTo("q");
    assertThat(assign.getAssign().getEpoch()).isEqualTo(3);
    peer.status("{\"event\":\"query_added\",\"query\":\"q\"}", 3);
    assertThat(heard.next()).isEqualTo("running");
    registry.limit("h1", "q", 0.25);
    assertThat(peer.next().getLimit().getRate()).isEqualTo(0.25);
    registry.credit("h1", "q", 500, 7);
    assertThat(peer.next().getCredit().getPackets()).isEqualTo(500);
    peer.status("{\"event\":\"credits\",\"query\":\"q\",\"taken\":250}", 3);
    assertThat(heard.next()).isEqualTo("credits 250");
    registry.end("h1", "q");
    assertThat(peer.next().getEnd().getQuery()).isEqualTo("q");
    peer.status("{\"event\":\"query_ended\",\"query\":\"q\",\"accounting\":{\"packets_in\":7}}", 3);
    assertThat(heard.next()).isEqualTo("ended 7");
    assertThat(peer.next().getEnd().getQuery()).as("that it was received").isEqualTo("q");
    assertThat(awaitUp("h1", true).queries()).isEmpty();
    return assign;
  }

  @Test
  void earlyAssignmentsWaitForTheAgent() throws Exception {
    Heard heard = new Heard();
    registry.assign("late", "q", 1, PLAN, heard);
    registry.limit("late", "q", 0.5);
    Peer peer = peer("late", 1);
    assertThat(peer.next().getAssign().getQuery()).isEqualTo("q");
    assertThat(peer.next().getLimit().getRate())
        .as("sent while it was disconnected")
        .isEqualTo(0.5);
    assertThat(heard.words).isEmpty();
  }

  /** An agent that reconnects may have been disconnected when switches confirmed. */
  @Test
  void mirroringIsReportedForTheAssignedEpochAndAgainAfterAReconnect() throws Exception {
    Peer first = peer("h1", 1);
    registry.assign("h1", "q", 2, PLAN, new Heard());
    assertThat(first.next().hasAssign()).isTrue();
    registry.mirrored("h1", "q", 1);
    registry.mirrored("h1", "q", 2);
    assertThat(first.next().getMirrored())
        .isEqualTo(MirroredCommand.newBuilder().setQuery("q").setEpoch(2).build());
    first.out.onError(Status.CANCELLED.asException());
    awaitUp("h1", false);
    Peer again = peer("h1", 1, Assignment.newBuilder().setQuery("q").setEpoch(2).build());
    assertThat(again.next().hasAssign()).isTrue();
    assertThat(again.next().getMirrored().getEpoch()).isEqualTo(2);
  }

  @Test
  void reportsAboutAnOlderEpochAreIgnored() throws Exception {
    Peer peer = peer("h1", 1);
    Heard heard = new Heard();
    registry.assign("h1", "q", 2, PLAN, heard);
    peer.status("{\"event\":\"query_ended\",\"query\":\"q\"}", 1);
    peer.status("{\"event\":\"query_added\",\"query\":\"q\"}", 2);
    assertThat(heard.next()).isEqualTo("running");
  }

  @Test
  void aReturningAgentContinuesAndEndsUnownedParts() throws Exception {
    Peer first = peer("h1", 1);
    Heard heard = new Heard();
    registry.assign("h1", "wanted", 1, PLAN, heard);
    first.next();
    first.out.onError(Status.CANCELLED.asException());
    awaitUp("h1", false);
    Peer again =
        peer(
            "h1",
            1,
            Assignment.newBuilder().setQuery("unwanted").setEpoch(1).build(),
            Assignment.newBuilder().setQuery("wanted").setEpoch(1).build());
    AgentCommand end = again.next();
    assertThat(end.getEnd().getQuery()).isEqualTo("unwanted");
    assertThat(end.getEnd().getAbandon()).as("others may resume it").isTrue();
    assertThat(again.next().getAssign().getQuery()).isEqualTo("wanted");
    assertThat(heard.words).isEmpty();
  }

  @Test
  void aRestartedAgentHasLostItsParts() throws Exception {
    Peer first = peer("h1", 1);
    Heard heard = new Heard();
    registry.assign("h1", "q", 1, PLAN, heard);
    first.next();
    peer("h1", 2);
    assertThat(heard.next()).startsWith("lost: the agent of h1 was restarted");
    assertThat(first.endOfStream().getCode()).isEqualTo(Code.ABORTED);
  }

  @Test
  void inheritedPartsContinueOnTheirHostsAndAreLostElsewhere() throws Exception {
    Heard goesOn = new Heard();
    Heard isLost = new Heard();
    registry.inherit("h1", "has", 2, PLAN, goesOn);
    registry.inherit("h1", "has-not", 2, PLAN, isLost);
    Peer peer = peer("h1", 5, Assignment.newBuilder().setQuery("has").setEpoch(2).build());
    assertThat(peer.next().getAssign().getQuery()).isEqualTo("has");
    assertThat(isLost.next()).startsWith("lost: the agent of h1 was restarted");
    peer.status("{\"event\":\"query_added\",\"query\":\"has\"}", 2);
    assertThat(goesOn.next()).isEqualTo("running");
  }

  @Test
  void aMovedQueryIsAbandonedOnTheOldHostAndAssignedToTheNewOne() throws Exception {
    Peer from = peer("h1", 1);
    Peer to = peer("h2", 1);
    Heard heard = new Heard();
    registry.assign("h1", "q", 1, PLAN, heard);
    assertThat(from.next().hasAssign()).isTrue();
    registry.move("h1", "h2", "q", 2, PLAN, heard);
    assertThat(from.next().getEnd().getAbandon()).isTrue();
    assertThat(to.next().getAssign().getEpoch()).isEqualTo(2);
    registry.move("h2", "h2", "q", 3, PLAN, heard);
    assertThat(heard.next()).startsWith("failed internal: h2 already has a part of q");
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
    Peer again = peer("h1", 1);
    assertThat(lease()).isEqualTo("h1 up, node ''");
    peer("h1", 2);
    assertThat(again.endOfStream().getCode()).isEqualTo(Code.ABORTED);
    assertThat(lease()).as("no gap between the two").isEqualTo("h1 up, node ''");
    assertThat(leases).isEmpty();
  }

  private String lease() throws InterruptedException {
    String event = leases.poll(SECONDS, TimeUnit.SECONDS);
    assertThat(event).as("report of a lease").isNotNull();
    return event;
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
    // Its answers report 5 s more, as if it took no time to answer.
    assertThat(state.clock().offsetNs() - 5_000_000_000L)
        .isBetween(-state.clock().errorNs(), state.clock().errorNs());
    assertThat(state.cores()).isEqualTo(4);
  }

  @Test
  void invalidMessagesEndOnlyTheirStream() throws Exception {
    Peer good = peer("h1", 1);
    Peer silent = Peer.of(channel);
    silent.status("{}", 0);
    assertThat(silent.endOfStream().getCode()).isEqualTo(Code.INVALID_ARGUMENT);
    for (String name : List.of("", "UPPER", "a b", "x".repeat(65))) {
      Peer bad = Peer.of(channel);
      bad.hello(name, 1);
      assertThat(bad.endOfStream().getCode()).as(name).isEqualTo(Code.INVALID_ARGUMENT);
    }
    Heard heard = new Heard();
    registry.assign("h1", "q", 1, PLAN, heard);
    assertThat(good.next().hasAssign()).isTrue();
    good.status("no JSON", 0);
    good.status("{\"event\":\"query_ended\",\"query\":\"unknown\"}", 9);
    good.status("[1]", 0);
    good.status(
        "{\"event\":\"query_refused\",\"query\":\"q\",\"kind\":\"user\",\"message\":\"no\"}", 1);
    assertThat(heard.next()).isEqualTo("failed user: h1: no");
  }

  @Test
  void theDeathOfAMonitorIsReported() throws Exception {
    Peer peer = peer("h1", 1);
    Heard heard = new Heard();
    registry.assign("h1", "q", 1, PLAN, heard);
    peer.status("{\"event\":\"monitor_ended\",\"message\":\"killed by signal 9\"}", 0);
    assertThat(heard.next()).isEqualTo("warning h1: killed by signal 9");
    peer.status("{\"event\":\"query_ended\",\"query\":\"q\",\"lost\":true}", 1);
    assertThat(heard.next())
        .isEqualTo("lost: the monitor of h1 was lost before it had sent everything");
  }

  @Test
  void silenceEndsTheLeaseAndLaterTheAssignments() throws Exception {
    registry.close();
    registry = registry(Duration.ofMillis(300), Duration.ofMillis(100), Duration.ofMillis(600));
    channel.shutdownNow();
    channel = channel(registry);
    Peer peer = peer("h1", 1);
    Heard heard = new Heard();
    registry.assign("h1", "q", 1, PLAN, heard);
    peer.mute = true;
    assertThat(peer.endOfStream().getCode()).isEqualTo(Code.DEADLINE_EXCEEDED);
    assertThat(heard.next()).isEqualTo("away");
    assertThat(heard.next()).contains("h1", "did not return");
  }

  @Test
  void anEndRequestedMeanwhileIsSentWhenTheAgentReturns() throws Exception {
    Peer first = peer("h1", 1);
    Heard heard = new Heard();
    registry.assign("h1", "q", 1, PLAN, heard);
    first.next();
    first.out.onError(Status.CANCELLED.asException());
    awaitUp("h1", false);
    registry.end("h1", "q");
    Peer again = peer("h1", 1, Assignment.newBuilder().setQuery("q").setEpoch(1).build());
    assertThat(again.next().getAssign().getQuery()).isEqualTo("q");
    AgentCommand end = again.next();
    assertThat(end.getEnd().getQuery()).isEqualTo("q");
    assertThat(end.getEnd().getAbandon()).isFalse();
    again.status("{\"event\":\"query_ended\",\"query\":\"q\"}", 1);
    assertThat(heard.next()).startsWith("ended");
  }

  @Test
  void forgottenPartsEndWhenTheAgentReturns() throws Exception {
    Peer first = peer("h1", 1);
    Heard heard = new Heard();
    registry.assign("h1", "q", 1, PLAN, heard);
    first.next();
    first.out.onError(Status.CANCELLED.asException());
    awaitUp("h1", false);
    registry.forget("h1", "q");
    Peer again = peer("h1", 1, Assignment.newBuilder().setQuery("q").setEpoch(1).build());
    assertThat(again.next().getEnd().getQuery()).isEqualTo("q");
    assertThat(heard.words).isEmpty();
  }
}
