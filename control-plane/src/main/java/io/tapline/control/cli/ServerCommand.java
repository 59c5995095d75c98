package io.tapline.control.cli;

import io.tapline.compiler.Inventory;
import io.tapline.control.HashKeys;
import io.tapline.control.PipelineException;
import io.tapline.control.coordination.Leadership;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.LeasedNodes;
import io.tapline.control.query.Source;
import io.tapline.control.query.Tap;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.LeaseListener;
import io.tapline.control.registry.RegistryOptions;
import io.tapline.control.rest.RestOptions;
import io.tapline.control.rest.RestServer;
import io.tapline.network.Network;
import io.tapline.sdn.controller.Controller;
import io.tapline.sdn.controller.NetworkMap;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline server}: the control plane, with an embedded data path. */
@Command(
    name = "server",
    description =
        "Serves the dashboard and the REST interface on loopback, and runs the queries that are submitted.",
    footer = {
      "",
      "Each query reads the capture from its beginning, or the interface or hosts from now on. Without,",
      "queries can be explained but not submitted. Ends in order on SIGTERM or Ctrl-C."
    })
final class ServerCommand implements Callable<Integer> {
  private final Console console;

  @ArgGroup(exclusive = true)
  private Packets packets;

  /** The source of packets. */
  static final class Packets {
    @Option(
        names = "--interface",
        paramLabel = "IF",
        description = "Network interface to listen on (needs root).")
    private String networkInterface;

    @Option(
        names = "--pcap",
        paramLabel = "FILE",
        description = "Capture files, merged by the times of their packets.")
    private List<Path> files = new ArrayList<>();

    @Option(
        names = "--agents",
        paramLabel = "HOST:PORT",
        description =
            "Where the hosts' agents (tapline-agent) come for leases: their monitors watch.")
    private String agents;

    /** Checks everything that can be checked before anything is started. */
    void check() {
      if (networkInterface != null) {
        NetworkInterfaces.check(networkInterface);
      }
    }
  }

  @Mixin private TapOptions taps;

  @Option(
      names = "--inventory",
      paramLabel = "FILE",
      description =
          "YAML file with the names of hosts and, for placement and mirror rules, their network.")
  private Path inventoryFile;

  @Option(
      names = "--openflow-port",
      paramLabel = "PORT",
      description =
          "Be the controller of the inventory's network: switches connect there, forward, and mirror what"
              + " running queries want. 0 takes a free one.")
  private Integer openFlowPort;

  @Option(
      names = "--openflow-address",
      paramLabel = "ADDRESS",
      defaultValue = "127.0.0.1",
      description = "Address to listen on for switches. Default: ${DEFAULT-VALUE}.")
  private String openFlowAddress;

  @Mixin private AgentOptions agentOptions;
  @Mixin private ListenOptions listening;
  @Mixin private TlsOptions tls;
  @Mixin private SwitchTlsOptions switches;
  @Mixin private ClearOptions clear;
  @Mixin private MultilogOptions multilog;
  @Mixin private ServiceOptions services;
  @Mixin private CapacityOptions capacity;
  @Mixin private CoordinationOptions coordination;
  @Mixin private HashKeyOptions hashKey;
  @Mixin private PluginOptions plugins;

  ServerCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    tls.check();
    listening.check(tls);
    capacity.check();
    services.speakTls(tls);
    coordination.speakTls(tls.of(TlsOptions.Service.ZOOKEEPER));
    checkPackets();
    Inventory inventory = Installation.inventory(inventoryFile);
    Optional<Network> network = Installation.network(inventoryFile, inventory);
    InetSocketAddress agents = agents();
    switches.tls(tls);
    agentOptions.access();
    agentOptions.grace();
    coordination.check(agents != null, services);
    openBroker(agents);
    checkClear();
    clear.warn(console);
    if (agents == null) {
      plugins.installation().requireMonitor();
    }
    Optional<HashKeys> keys = hashKey.read(console);
    return coordination.isWanted()
        ? lead(inventory, network, agents, keys)
        : serve(inventory, network, agents, keys.orElseGet(HashKeys::drawn));
  }

  /** Checks all that can be checked of the source of packets before anything is started. */
  private void checkPackets() throws InterruptedException {
    if (packets != null && packets.agents != null && !taps.taps().isEmpty()) {
      throw new UsageException(
          "--tap is for the monitor of this host; give the taps of other hosts to their tapline-agent");
    }
    if (packets != null) {
      packets.check();
    }
    if (packets == null || packets.agents == null) {
      Captures.check(plugins.installation(), files(), taps.taps(), console);
    }
  }

  private List<Path> files() {
    return packets == null ? List.of() : packets.files;
  }

  /** Returns null if there are no packets to watch. */
  private Source source(AgentRegistry registry) {
    if (registry != null) {
      return Source.hosts(registry);
    }
    if (packets == null && taps.taps().isEmpty()) {
      return null;
    }
    String networkInterface =
        packets == null || packets.networkInterface == null ? "" : packets.networkInterface;
    return new Source(
        files(), networkInterface, taps.taps(), Speed.MAX.toString(), Optional.empty());
  }

  private boolean readsFiles() {
    return !files().isEmpty() || taps.taps().stream().anyMatch(Tap::file);
  }

  /** Throws a usage error if a connection beyond loopback would be unencrypted. */
  private void checkClear() {
    services.check(clear);
    coordination.check(clear);
    if (packets != null && packets.agents != null) {
      agentOptions.check(clear, packets.agents);
    }
    if (openFlowPort != null) {
      ControllerCommand.check(clear, tls, openFlowAddress);
    }
  }

  /** Serves as the only control plane; queries end with this process. */
  private int serve(
      Inventory inventory, Optional<Network> network, InetSocketAddress agents, HashKeys keys)
      throws Exception {
    RestOptions options = restOptions();
    CountDownLatch stop = new CountDownLatch(1);
    try (Controller controller = controller(network);
        DrillService drill = multilog.drill(inventory, true);
        PipelineSession session = session(inventory, network, keys);
        AgentRegistry registry = registry(agents, session, keys, heard(session, drill));
        RestServer server = RestServer.start(session.queries(), source(registry), drill, options)) {
      StopSignals.handle(stop::countDown);
      if (registry != null) {
        open(registry);
      }
      if (controller != null) {
        session.queries().mirrorThrough(controller, registry);
        sayWhereSwitchesCome(controller);
      }
      session.failure().thenRun(stop::countDown);
      sayWhere(server);
      stop.await();
      if (session.failure().isDone()) {
        throw new CommandException(session.failure().join());
      }
      console.hint("stopping");
      // Stops queries before agents lose their leases, so that their monitors can still send what
      // they have.
      session.queries().stopAll();
    }
    return 0;
  }

  /** Serves as one of several control planes; others resume this one's queries. */
  private int lead(
      Inventory inventory,
      Optional<Network> network,
      InetSocketAddress agents,
      Optional<HashKeys> keys)
      throws Exception {
    RestOptions options = restOptions();
    CountDownLatch stop = new CountDownLatch(1);
    CompletableFuture<String> fault = new CompletableFuture<>();
    fault.thenRun(stop::countDown);
    try (Leadership leadership = coordination.connect();
        DrillService drill = multilog.drill(inventory, false);
        // Its monitors belong to agents, which receive their keys once this control plane leads.
        PipelineSession session = session(inventory, network, HashKeys.KNOWN);
        Lead lead = new Lead(leadership, () -> controller(network), drill.watches(), keys);
        AgentRegistry registry =
            registry(
                agents, session, HashKeys.KNOWN, LeaseListener.both(heard(session, drill), lead));
        RestServer server =
            RestServer.start(session.queries(), Source.hosts(registry), drill, options.led(lead))) {
      StopSignals.handle(stop::countDown);
      lead.campaign(session.queries(), registry, () -> console.hint("leading"))
          .exceptionally(
              e -> {
                fault.complete("can't lead: " + e.getCause().getMessage());
                return null;
              });
      leadership.lost().thenRun(ServerCommand::endAtOnce);
      leadership.campaign(coordination.url(listening.url(server.port(), tls)));
      sayWhere(server);
      stop.await();
      session.queries().detach();
      if (fault.isDone()) {
        throw new CommandException(fault.join());
      }
      console.hint("stopping; queries go on");
    }
    return 0;
  }

  /** Another control plane leads: anything that this one still does could only interfere. */
  private static void endAtOnce() {
    System.err.println("tapline: this control plane has lost the lead; start it again to follow");
    Runtime.getRuntime().halt(1);
  }

  private void sayWhere(RestServer server) {
    console.line("listening on " + listening.url(server.port(), tls));
    console.flush();
  }

  private void sayWhereSwitchesCome(Controller controller) {
    console.hint("listening for switches on " + openFlowAddress + ":" + controller.port());
  }

  private PipelineSession session(Inventory inventory, Optional<Network> network, HashKeys keys)
      throws PipelineException {
    return PipelineSession.serve(
        console,
        plugins.installation(),
        inventory,
        network,
        services,
        keys,
        capacity.mostQueries(readsFiles()));
  }

  private RestOptions restOptions() {
    return listening.rest(tls, coordination.advertisedHost());
  }

  /** Returns null if agents are not accepted. */
  private InetSocketAddress agents() {
    if (packets == null || packets.agents == null) {
      return null;
    }
    int colon = packets.agents.lastIndexOf(':');
    try {
      return new InetSocketAddress(
          packets.agents.substring(0, Math.max(0, colon)),
          Integer.parseInt(packets.agents.substring(colon + 1)));
    } catch (IllegalArgumentException e) {
      throw new UsageException("--agents " + packets.agents + ": give HOST:PORT");
    }
  }

  /** Agents' monitors reach the broker at the address at which agents reach this server. */
  private void openBroker(InetSocketAddress agents) {
    InetAddress address = agents == null ? null : agents.getAddress();
    if (address != null
        && services.brokers().isEmpty()
        && !address.isLoopbackAddress()
        && !address.isAnyLocalAddress()) {
      String text = address.getHostAddress();
      services.reachedAt(address instanceof Inet6Address ? "[" + text + "]" : text);
    } else if (address != null && address.isAnyLocalAddress() && services.brokers().isEmpty()) {
      throw new UsageException(
          "--agents %s: name the address that hosts reach, or give --brokers"
              .formatted(packets.agents));
    }
  }

  /** Returns the listeners for hosts. */
  private static LeaseListener heard(PipelineSession session, DrillService drill) {
    return LeaseListener.both(new LeasedNodes(drill), session.queries().accounting());
  }

  private AgentRegistry registry(
      InetSocketAddress agents, PipelineSession session, HashKeys keys, LeaseListener listener) {
    return agents == null
        ? null
        : AgentRegistry.of(
            RegistryOptions.usual(agents, session.queries().hostBrokers())
                .withGrace(agentOptions.grace())
                .withLogins(session.queries()::hostLogin)
                .withHashKeys(keys),
            agentOptions.access(),
            listener);
  }

  private void open(AgentRegistry registry) throws PipelineException {
    try {
      registry.open();
    } catch (IOException e) {
      throw new PipelineException(
          PipelineException.Kind.USER,
          "--agents " + packets.agents + ": can't be listened on: " + e.getMessage(),
          e);
    }
  }

  /** Returns null if no controller is wanted. */
  private Controller controller(Optional<Network> network) {
    if (openFlowPort == null) {
      return null;
    } else if (network.isEmpty()) {
      throw new UsageException("--openflow-port needs an --inventory with a network");
    }
    NetworkMap map = ControllerCommand.map(inventoryFile);
    if (map.datapaths().isEmpty()) {
      throw new UsageException(
          "--openflow-port needs the datapaths of switches: network.openflow.datapaths in "
              + inventoryFile);
    }
    return ControllerCommand.start(
        ControllerCommand.listenAt(openFlowAddress, openFlowPort), map, switches.tls(tls));
  }
}
