package io.tapline.control.registry;

import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tapline.control.HashKeys;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.rpc.AgentCommand;
import io.tapline.schema.rpc.AgentHello;
import io.tapline.schema.rpc.AgentMessage;
import io.tapline.schema.rpc.RegistryGrpc;
import io.tapline.sdn.forwarding.RouteObserver;
import io.tapline.sdn.forwarding.RouteVersion;
import io.tapline.sdn.switches.LogLimit;
import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The agents that have, or recently had, a lease with this control plane, and their assignments.
 * Any thread may call; a single thread does the work.
 */
public final class AgentRegistry implements Assignments, RouteObserver, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(AgentRegistry.class);
  private static final Logger AUDIT = LoggerFactory.getLogger("tapline.audit");
  private static final Pattern NAME = Pattern.compile("[a-z0-9.-]{1,64}");

  /**
   * Broker users whose names no host may have, since monitors log in with the names of their hosts.
   */
  private static final Pattern OTHER_USERS = Pattern.compile("control|monitor|broker|job-.*");

  /** Maximum number of remembered names: more than the hosts of a fat tree of 48-port switches. */
  private static final int MAX_AGENTS = 65_536;

  private static final int MAX_MESSAGE_BYTES = 1 << 20;

  /**
   * Bytes that may be in flight on a stream. An adaptive window would cost a ping for most
   * messages.
   */
  private static final int WINDOW_BYTES = 1 << 20;

  private volatile RegistryOptions options;
  private final AgentAccess access;
  private final LeaseListener listener;
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(AgentRegistry::daemon);
  private final Map<String, Agent> agents = new TreeMap<>();
  private final RouteRollout routes = new RouteRollout(agents.values());
  private final LogLimit refusals = new LogLimit();
  private Server server;

  private AgentRegistry(RegistryOptions options, AgentAccess access, LeaseListener listener) {
    this.options = options;
    this.access = access;
    this.listener = listener;
  }

  /**
   * Listens for agents without requiring tokens.
   *
   * @param listener receives events of leases
   * @throws IOException if the address is in use
   */
  public static AgentRegistry start(RegistryOptions options, LeaseListener listener)
      throws IOException {
    AgentRegistry registry = of(options, AgentAccess.OPEN, listener);
    registry.open();
    return registry;
  }

  /** Creates a registry that does not listen before {@link #open}. */
  public static AgentRegistry of(
      RegistryOptions options, AgentAccess access, LeaseListener listener) {
    return new AgentRegistry(options, access, listener);
  }

  /**
   * Sets the term of all future commands, and the hash keys of agents' monitors. REQUIRES: nothing
   * has been assigned yet.
   */
  public void lead(long term, HashKeys keys) {
    options = options.withTerm(term).withHashKeys(keys);
  }

  /**
   * Starts listening for agents. Called once.
   *
   * @throws IOException if the address is in use
   */
  public void open() throws IOException {
    server =
        NettyServerBuilder.forAddress(options.address(), access.credentials())
            .maxInboundMessageSize(MAX_MESSAGE_BYTES)
            .flowControlWindow(WINDOW_BYTES)
            .intercept(access)
            .addService(new Leases())
            .build()
            .start();
    long period = options.probe().toMillis();
    thread.scheduleAtFixedRate(this::tick, period, period, TimeUnit.MILLISECONDS);
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "agent-registry");
    thread.setDaemon(true);
    return thread;
  }

  public int port() {
    return server.getPort();
  }

  /**
   * Adds agents that had leases with an earlier control plane: they count as disconnected until
   * they connect.
   */
  public void expect(List<String> names) {
    onLoop(
        () -> {
          names.forEach(name -> agents.computeIfAbsent(name, this::newAgent));
          return null;
        });
  }

  /** Returns all known agents, ordered by name. */
  public List<AgentState> states() {
    return onLoop(() -> agents.values().stream().map(Agent::state).toList());
  }

  @Override
  public boolean assign(String agent, String query, int epoch, Plan plan, AssignmentEvents events) {
    return onLoop(() -> assignNow(agent, query, epoch, plan, events, false));
  }

  @Override
  public boolean inherit(
      String agent, String query, int epoch, Plan plan, AssignmentEvents events) {
    return onLoop(() -> assignNow(agent, query, epoch, plan, events, true));
  }

  @Override
  public void move(
      String oldHost, String newHost, String query, int epoch, Plan plan, AssignmentEvents events) {
    run(
        () -> {
          Agent previousAgent = agents.get(oldHost);
          if (previousAgent != null && !oldHost.equals(newHost)) {
            previousAgent.forget(query);
          }
          if (!assignNow(newHost, query, epoch, plan, events, false)) {
            events.failed("internal", newHost + " already has a part of " + query);
          }
        });
  }

  private boolean assignNow(
      String agent,
      String query,
      int epoch,
      Plan plan,
      AssignmentEvents events,
      boolean inherited) {
    Agent host = agents.computeIfAbsent(agent, this::newAgent);
    if (host.state().queries().contains(query)) {
      return false;
    }
    host.assign(query, epoch, plan, events, inherited);
    return true;
  }

  @Override
  public void end(String agent, String query) {
    send(agent, host -> host.end(query));
  }

  @Override
  public void forget(String agent, String query) {
    send(agent, host -> host.forget(query));
  }

  @Override
  public void mirrored(String agent, String query, int epoch) {
    send(agent, host -> host.mirrored(query, epoch));
  }

  @Override
  public void triggers(String agent, String query, int epoch, TriggerSet set) {
    send(agent, host -> host.triggers(query, epoch, set));
  }

  @Override
  public void limit(String agent, String query, double rate) {
    send(agent, host -> host.limit(query, rate));
  }

  @Override
  public void credit(String agent, String query, long packets, long version) {
    send(agent, host -> host.credit(query, packets, version));
  }

  /** Reports to an agent how many packets never reached its monitor (schema/monitor.proto). */
  public void lose(String agent, long incarnation, long packets) {
    send(agent, host -> host.lose(incarnation, packets));
  }

  @Override
  public Set<String> switches() {
    return routes.switches();
  }

  @Override
  public void announce(RouteVersion version, Runnable confirmed) {
    run(() -> routes.announce(version, confirmed));
  }

  private interface Command {
    void on(Agent agent);
  }

  private void send(String agent, Command command) {
    run(
        () -> {
          Agent host = agents.get(agent);
          if (host != null) {
            command.on(host);
          }
        });
  }

  private void run(Runnable task) {
    try {
      thread.execute(
          () -> {
            try {
              task.run();
            } catch (RuntimeException e) {
              LOG.error("internal error in the agent registry", e);
            }
          });
    } catch (RejectedExecutionException e) {
      LOG.debug("ignored after closing", e);
    }
  }

  private <T> T onLoop(Callable<T> question) {
    try {
      return thread.submit(question).get();
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  private void tick() {
    try {
      agents.values().forEach(Agent::tick);
      routes.check();
    } catch (RuntimeException e) {
      LOG.error("internal error in the agent registry", e);
    }
  }

  /** Evicts the idle agent that disconnected longest ago, if the maximum is reached. */
  private void makeRoom() {
    if (agents.size() >= MAX_AGENTS) {
      agents.values().stream()
          .filter(Agent::idle)
          .map(Agent::state)
          .min(Comparator.comparingLong(AgentState::sinceNs))
          .ifPresent(oldest -> forget(oldest.name()));
    }
  }

  private void forget(String agent) {
    agents.remove(agent);
    listener.forgotten(agent);
  }

  private Agent newAgent(String name) {
    return new Agent(name, options, listener, this::run);
  }

  private final class Leases extends RegistryGrpc.RegistryImplBase {
    @Override
    public StreamObserver<AgentMessage> lease(StreamObserver<AgentCommand> out) {
      return new IncomingStream(
          new LeaseStream((ServerCallStreamObserver<AgentCommand>) out),
          AgentAccess.CERTIFICATE.get());
    }
  }

  /**
   * The receiving side of one stream: forwards messages, except events, to the registry's thread,
   * in order.
   */
  private final class IncomingStream implements StreamObserver<AgentMessage> {
    private final LeaseStream stream;

    /** The agent's certificate; null if none is required. */
    private final AgentCertificate certificate;

    /** The stream's agent; null before its hello, and after a refusal. */
    private Agent agent;

    IncomingStream(LeaseStream stream, AgentCertificate certificate) {
      this.stream = stream;
      this.certificate = certificate;
    }

    /**
     * Blocks until the message is handled, unless it contains events. Messages from a flooding
     * agent are therefore read only as fast as they are handled.
     */
    @Override
    public void onNext(AgentMessage message) {
      if (agent != null && message.getStatus().hasEvents()) {
        // Events bypass the registry's thread, which would be the slowest stage.
        agent.onMessage(message.getStatus().getEvents());
        return;
      }
      try {
        onLoop(
            () -> {
              on(message);
              return null;
            });
      } catch (RejectedExecutionException e) {
        LOG.debug("ignored after closing", e);
      }
    }

    private void on(AgentMessage message) {
      if (message.hasHello()) {
        greet(message.getHello());
      } else if (agent == null) {
        stream.fail(Status.INVALID_ARGUMENT.withDescription("the first message is not a hello"));
      } else if (message.hasHeartbeat()) {
        agent.onMessage(stream, message.getHeartbeat());
      } else if (message.hasStatus()) {
        agent.onMessage(stream, message.getStatus());
        routes.check();
      }
    }

    private void greet(AgentHello hello) {
      String refusal = refusal(hello);
      if (agent != null || !refusal.isEmpty()) {
        stream.fail(
            Status.INVALID_ARGUMENT.withDescription(
                agent != null ? "the agent has already sent a hello" : refusal));
        return;
      }
      String foreign = certificate == null ? "" : certificate.refusal(hello.getAgent());
      if (!foreign.isEmpty()) {
        if (refusals.take(foreign, System.nanoTime())) {
          AUDIT.info("rejected a lease: {}", foreign);
        }
        stream.fail(Status.PERMISSION_DENIED.withDescription(foreign));
        return;
      }
      makeRoom();
      Agent knownAgent = agents.computeIfAbsent(hello.getAgent(), AgentRegistry.this::newAgent);
      if (knownAgent.outlives(hello)) {
        stream.fail(
            Status.ALREADY_EXISTS.withDescription(
                "an agent that was started later has the name " + hello.getAgent()));
      } else if (Long.compareUnsigned(hello.getTerm(), options.term()) > 0) {
        stream.fail(
            Status.FAILED_PRECONDITION.withDescription(
                "this control plane is no longer the leader"));
      } else {
        agent = knownAgent;
        agent.lease(hello, stream);
        routes.joined(agent);
      }
    }

    private String refusal(AgentHello hello) {
      String name = hello.getAgent();
      if (!NAME.matcher(name).matches()) {
        return "an agent's name must be 1 to 64 lower-case letters, digits, '-' and '.'";
      }
      boolean logsIn = !options.logins().apply(name).isNone();
      if (logsIn && OTHER_USERS.matcher(name).matches()) {
        return "'"
            + name
            + "' is the name of another broker user: give the agent a different --name";
      } else if (logsIn && !hello.getLogsIn()) {
        return "the broker requires a login, which an agent of version '%s' does not support: update tapline-agent on %s"
            .formatted(hello.getVersion(), name);
      }
      return hello.getIncarnation() == 0 ? "the hello has no incarnation" : "";
    }

    @Override
    public void onError(Throwable brokenThrowable) {
      run(this::broke);
    }

    @Override
    public void onCompleted() {
      run(
          () -> {
            stream.complete();
            broke();
          });
    }

    private void broke() {
      if (agent != null) {
        agent.broke(stream);
      }
    }
  }

  /** Ends the leases; agents continue to run their assignments for the grace period. */
  @Override
  public void close() {
    run(() -> agents.values().forEach(Agent::close));
    closeServer();
    thread.shutdown();
  }

  private void closeServer() {
    if (server == null) {
      return;
    }
    server.shutdown();
    try {
      if (!server.awaitTermination(2, TimeUnit.SECONDS)) {
        server.shutdownNow();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
