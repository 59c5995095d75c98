package io.tapline.control.registry;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.tapline.schema.rpc.AgentCommand;
import io.tapline.schema.rpc.AgentHeartbeat;
import io.tapline.schema.rpc.AgentHello;
import io.tapline.schema.rpc.AgentMessage;
import io.tapline.schema.rpc.Assignment;
import io.tapline.schema.rpc.MonitorStatus;
import io.tapline.schema.rpc.RegistryGrpc;
import io.tapline.schema.rpc.Tap;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A simulated agent. It answers probes, unless it is muted, and records all other commands. */
final class Peer implements StreamObserver<AgentCommand> {
  final BlockingQueue<AgentCommand> commands = new LinkedBlockingQueue<>();
  final BlockingQueue<Status> end = new LinkedBlockingQueue<>();
  volatile boolean mute;
  volatile int protocol = 1;
  volatile boolean changesTriggers = true;
  volatile boolean takesRoutes = true;
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
                    .setChangesTriggers(changesTriggers)
                    .setTakesRoutes(takesRoutes)
                    .addAllAssignments(List.of(running))));
  }

  void helloWithLogin(String name) {
    say(
        AgentMessage.newBuilder()
            .setHello(AgentHello.newBuilder().setAgent(name).setIncarnation(1).setLogsIn(true)));
  }

  /** Sends an event in the format of the peer's protocol version. */
  void status(String json, int epoch) {
    MonitorStatus oldStatus = MonitorStatus.newBuilder().setJson(json).setEpoch(epoch).build();
    say(AgentMessage.newBuilder().setStatus(protocol == 0 ? oldStatus : EventJson.read(oldStatus)));
  }

  /** Confirms a version of the routes. */
  void confirmRoutes(long version) {
    say(
        AgentMessage.newBuilder()
            .setStatus(
                MonitorStatus.newBuilder()
                    .setRoutes(MonitorStatus.Routes.newBuilder().setVersion(version))));
  }

  AgentCommand next() throws InterruptedException {
    AgentCommand command = commands.poll(LiveRegistry.SECONDS, TimeUnit.SECONDS);
    assertThat(command).as("a command").isNotNull();
    assertThat(command.getTerm()).isEqualTo(LiveRegistry.TERM);
    return command;
  }

  Status endOfStream() throws InterruptedException {
    Status status = end.poll(LiveRegistry.SECONDS, TimeUnit.SECONDS);
    assertThat(status).as("the end of the stream").isNotNull();
    return status;
  }

  @Override
  public void onNext(AgentCommand command) {
    if (!command.hasProbe()) {
      commands.add(command);
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
  public void onError(Throwable brokenThrowable) {
    end.add(Status.fromThrowable(brokenThrowable));
  }

  @Override
  public void onCompleted() {
    end.add(Status.OK);
  }
}
