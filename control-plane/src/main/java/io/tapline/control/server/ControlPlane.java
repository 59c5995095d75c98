package io.tapline.control.server;

import io.tapline.control.HashKeys;
import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.control.coordination.FileWatchStore;
import io.tapline.control.coordination.Leadership;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.LeasedNodes;
import io.tapline.control.drill.WatchStore;
import io.tapline.control.embedded.LocalAgents;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.LeaseListener;
import io.tapline.control.rest.RestServer;
import io.tapline.control.watches.QueryRuns;
import io.tapline.sdn.controller.Controller;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.UnaryOperator;

/** Runs the control plane until it is asked to stop. */
public final class ControlPlane {
  private final ServerSettings settings;
  private final Terminal terminal;

  /** Creates a control plane that reports to the terminal and is stopped from there. */
  public ControlPlane(ServerSettings settings, Terminal terminal) {
    this.settings = settings;
    this.terminal = terminal;
  }

  /** Serves as the only control plane; queries end with this process. */
  public void serve() throws PipelineException, InterruptedException {
    HashKeys keys = settings.hashKeys().orElseGet(HashKeys::drawn);
    CountDownLatch stop = new CountDownLatch(1);
    try (Controller controller = controller();
        FileWatchStore watches = watches();
        DrillService drill = settings.drill();
        PipelineSession session = session(keys);
        AgentRegistry registry = registry(session, keys, listeners(session, drill))) {
      terminal.onStop(stop::countDown);
      session.queries().limitTriggers(settings.rest()::triggerQuota);
      lead(drill, watches);
      if (registry != null) {
        open(registry);
      }
      if (controller != null) {
        session.queries().mirrorThrough(controller, isLocal() ? null : registry);
        if (registry != null) {
          controller.announceRoutesTo(registry);
        }
        String address = settings.switches().orElseThrow().address().getHostString();
        terminal.hint("listening for switches on " + address + ":" + controller.port());
      }
      session.failure().thenRun(stop::countDown);
      // Starts capturing on the interface before any request is served.
      try (LocalAgents local = localAgents(session, registry);
          QueryRuns runs = runs(session, drill, source(registry));
          RestServer server =
              RestServer.start(session.queries(), source(registry), drill, settings.rest())) {
        announce(server);
        stop.await();
        if (session.failure().isDone()) {
          throw new PipelineException(Kind.RESOURCES, session.failure().join());
        }
        terminal.hint("stopping");
        // Stops managing watches, which continue under the next server.
        drill.watches().runInMonitors(null);
        // Queries stop before agents lose their leases, so that monitors can still send their data.
        session.queries().stopAll();
      }
    }
  }

  /** Lets watches run in monitors. */
  private static QueryRuns runs(PipelineSession session, DrillService drill, Source source) {
    QueryRuns runs = new QueryRuns(session.queries(), source);
    drill.watches().runInMonitors(runs);
    return runs;
  }

  /** Opens the file of watches; returns null if they end with this process. */
  private FileWatchStore watches() throws PipelineException {
    if (settings.nodes().watches().isEmpty()) {
      return null;
    }
    try {
      return new FileWatchStore(settings.nodes().watches().get());
    } catch (IOException e) {
      throw new PipelineException(Kind.USER, "--watches: " + e.getMessage(), e);
    }
  }

  private static void lead(DrillService drill, FileWatchStore watches) throws PipelineException {
    try {
      drill.watches().lead(watches == null ? WatchStore.memory() : watches);
    } catch (IOException e) {
      throw new PipelineException(Kind.RESOURCES, e.getMessage(), e);
    }
  }

  private boolean isLocal() {
    return settings.local().isPresent();
  }

  /** Starts the agents of this host's interface; returns null if packets come from elsewhere. */
  private LocalAgents localAgents(PipelineSession session, AgentRegistry registry)
      throws PipelineException {
    if (!isLocal()) {
      return null;
    }
    List<String> names = LocalAgents.names(session.queries().maxRunning());
    try {
      return LocalAgents.start(settings.local().get(), names, registry);
    } catch (IOException e) {
      throw new PipelineException(Kind.RESOURCES, e.getMessage(), e);
    }
  }

  /**
   * Serves as one of several control planes; when this one ends, another resumes its queries.
   * REQUIRES: the settings have agents.
   *
   * @param leadership the election; the caller closes it
   * @param advertised returns the URL that others redirect to, given the URL that this one listens
   *     on
   */
  public void lead(Leadership leadership, UnaryOperator<String> advertised)
      throws PipelineException, InterruptedException {
    CountDownLatch stop = new CountDownLatch(1);
    CompletableFuture<String> fault = new CompletableFuture<>();
    fault.thenRun(stop::countDown);
    try (DrillService drill = settings.drill();
        // Agents receive the keys for their monitors once this control plane is the leader.
        PipelineSession session = session(HashKeys.KNOWN);
        LeaderSession lead =
            new LeaderSession(
                leadership, this::startController, drill.watches(), settings.hashKeys());
        AgentRegistry registry =
            registry(session, HashKeys.KNOWN, LeaseListener.both(listeners(session, drill), lead));
        RestServer server =
            RestServer.start(
                session.queries(), Source.hosts(registry), drill, settings.rest().led(lead))) {
      terminal.onStop(stop::countDown);
      session.queries().limitTriggers(settings.rest()::triggerQuota);
      lead.campaign(
              session.queries(),
              registry,
              () -> {
                runs(session, drill, Source.hosts(registry));
                terminal.hint("leading");
              })
          .exceptionally(
              e -> {
                fault.complete("can't become the leader: " + e.getCause().getMessage());
                return null;
              });
      leadership.lost().thenRun(ControlPlane::endAtOnce);
      leadership.campaign(advertised.apply(settings.url().apply(server.port())));
      announce(server);
      stop.await();
      session.queries().detach();
      if (fault.isDone()) {
        throw new PipelineException(Kind.RESOURCES, fault.join());
      }
      terminal.hint("stopping; queries continue");
    }
  }

  /**
   * Ends the process: another control plane is the leader, and further actions of this one could
   * only interfere.
   */
  private static void endAtOnce() {
    System.err.println("tapline: this control plane has lost leadership; restart it as a follower");
    Runtime.getRuntime().halt(1);
  }

  private void announce(RestServer server) {
    terminal.announce("listening on " + settings.url().apply(server.port()));
  }

  private PipelineSession session(HashKeys keys) throws PipelineException {
    return PipelineSession.serve(settings.pipeline().with(keys), terminal);
  }

  /** Returns the source of queries' packets; null if there is none. */
  private Source source(AgentRegistry registry) {
    if (registry == null) {
      return settings.files().orElse(null);
    }
    return isLocal() ? Source.local(registry) : Source.hosts(registry);
  }

  /** Returns a listener that passes lease events to the drill service and the queries. */
  private static LeaseListener listeners(PipelineSession session, DrillService drill) {
    return LeaseListener.both(
        new LeasedNodes(drill),
        LeaseListener.both(session.queries().accounting(), session.queries().events()));
  }

  /** Returns the registry of agents; null if agents are not accepted. */
  private AgentRegistry registry(PipelineSession session, HashKeys keys, LeaseListener listener) {
    if (settings.agents().isEmpty()) {
      return null;
    }
    AgentRegistry registry = settings.agents().get().registry(session.queries(), keys, listener);
    if (isLocal()) {
      registry.expect(LocalAgents.names(session.queries().maxRunning()));
    }
    return registry;
  }

  private void open(AgentRegistry registry) throws PipelineException {
    try {
      registry.open();
    } catch (IOException e) {
      AgentSettings agents = settings.agents().orElseThrow();
      throw new PipelineException(
          Kind.USER,
          "can't listen for agents on %s:%d: %s"
              .formatted(
                  agents.address().getHostString(), agents.address().getPort(), e.getMessage()),
          e);
    }
  }

  private Controller controller() throws PipelineException {
    try {
      return startController();
    } catch (IOException e) {
      throw new PipelineException(Kind.RESOURCES, e.getMessage(), e);
    }
  }

  /** Starts the controller; returns null if none is configured. */
  private Controller startController() throws IOException {
    return settings.switches().isPresent() ? settings.switches().get().start() : null;
  }
}
