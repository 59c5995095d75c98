package io.tapline.control.cli.server;

import io.tapline.compiler.Inventory;
import io.tapline.control.HashKeys;
import io.tapline.control.PipelineException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.AgentOptions;
import io.tapline.control.cli.options.CapacityOptions;
import io.tapline.control.cli.options.ClearOptions;
import io.tapline.control.cli.options.CoordinationOptions;
import io.tapline.control.cli.options.HashKeyOptions;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.cli.options.ListenOptions;
import io.tapline.control.cli.options.MultilogOptions;
import io.tapline.control.cli.options.PluginOptions;
import io.tapline.control.cli.options.ServiceOptions;
import io.tapline.control.cli.options.SwitchTlsOptions;
import io.tapline.control.cli.options.TlsOptions;
import io.tapline.control.coordination.Leadership;
import io.tapline.control.embedded.LocalAgents;
import io.tapline.control.registry.AgentAccess;
import io.tapline.control.server.AgentSettings;
import io.tapline.control.server.ControlPlane;
import io.tapline.control.server.ServerSettings;
import io.tapline.control.server.SwitchSettings;
import io.tapline.network.Network;
import io.tapline.sdn.controller.NetworkMap;
import io.tapline.sdn.switches.SwitchTls;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline server}: the control plane, with an embedded data path. */
@Command(
    name = "server",
    description =
        "Serves the dashboard and the REST interface, by default on loopback, and runs submitted queries.",
    footer = {
      "",
      "Each query reads the capture files from the beginning, or captures live packets from its start.",
      "Without a source of packets, queries can be explained but not submitted. Shuts down cleanly on",
      "SIGTERM or Ctrl-C."
    })
public final class ServerCommand implements Callable<Integer> {
  private final Console console;

  @Mixin private PacketOptions packets;

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
          "Act as the controller of the inventory's network: switches connect to this port, forward packets, and mirror the traffic of running queries. 0 selects a free port.")
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
    packets.check(plugins.installation(), console);
    Inventory inventory = Installation.inventory(inventoryFile);
    packets.resolveTaps(inventory);
    Optional<Network> network = Installation.network(inventoryFile, inventory);
    InetSocketAddress agents = agents();
    Optional<AgentSettings> hosts = hosts(agents);
    Optional<SwitchSettings> controlled = switches(network);
    coordination.check(packets.agents().isPresent(), services);
    openBroker(agents);
    checkClear();
    clear.warn(console);
    if (packets.agents().isEmpty()) {
      plugins.installation().requireMonitor();
    }
    if (packets.isLocal()) {
      plugins.installation().requireAgent();
    }
    ServerSettings settings = settings(inventory, network, hosts, controlled);
    ControlPlane controlPlane = new ControlPlane(settings, console);
    if (!coordination.isWanted()) {
      controlPlane.serve();
      return 0;
    }
    try (Leadership leadership = coordination.connect()) {
      controlPlane.lead(leadership, coordination::url);
    }
    return 0;
  }

  private ServerSettings settings(
      Inventory inventory,
      Optional<Network> network,
      Optional<AgentSettings> hosts,
      Optional<SwitchSettings> controlled)
      throws PipelineException {
    Optional<HashKeys> keys = hashKey.read(console);
    return new ServerSettings(
        services.pipeline(
            console,
            plugins.installation(),
            inventory,
            network,
            HashKeys.KNOWN,
            capacity.maxQueries(packets.readsFiles())),
        keys,
        packets.files(),
        hosts,
        localAgents(),
        controlled,
        multilog.nodes(coordination.isWanted()),
        listening.rest(tls, coordination.advertisedHost()),
        port -> listening.url(port, tls));
  }

  /** Returns the settings of the agents for this host's interfaces; empty for none. */
  private Optional<LocalAgents.Settings> localAgents() {
    Installation installation = plugins.installation();
    return packets.isLocal()
        ? Optional.of(
            new LocalAgents.Settings(
                installation.agent(),
                packets.networkInterface(),
                packets.taps(),
                installation.plugins(),
                services.kafkaTls()))
        : Optional.empty();
  }

  /** Throws a usage error if a connection beyond loopback would be unencrypted. */
  private void checkClear() {
    services.check(clear);
    coordination.check(clear);
    packets.agents().ifPresent(address -> agentOptions.check(clear, address));
    if (openFlowPort != null) {
      ControllerCommand.check(clear, tls, openFlowAddress);
    }
  }

  /** Returns the address at which agents are accepted; null if they are not. */
  private InetSocketAddress agents() {
    if (packets.isLocal()) {
      return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }
    if (packets.agents().isEmpty()) {
      return null;
    }
    String text = packets.agents().get();
    int colon = text.lastIndexOf(':');
    try {
      return new InetSocketAddress(
          text.substring(0, Math.max(0, colon)), Integer.parseInt(text.substring(colon + 1)));
    } catch (IllegalArgumentException e) {
      throw new UsageException("--agents " + text + ": give HOST:PORT");
    }
  }

  /**
   * Lets agents' monitors connect to the embedded broker, at the address at which agents reach this
   * server.
   */
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
              .formatted(packets.agents().orElseThrow()));
    }
  }

  private Optional<AgentSettings> hosts(InetSocketAddress agents) {
    AgentAccess access = packets.isLocal() ? AgentAccess.OPEN : agentOptions.access();
    Duration grace = agentOptions.grace();
    return Optional.ofNullable(agents).map(address -> new AgentSettings(address, access, grace));
  }

  private Optional<SwitchSettings> switches(Optional<Network> network) {
    Optional<SwitchTls> switchTls = switches.tls(tls);
    if (openFlowPort == null) {
      return Optional.empty();
    } else if (network.isEmpty()) {
      throw new UsageException("--openflow-port needs an --inventory with a network");
    }
    NetworkMap map = ControllerCommand.map(inventoryFile);
    if (map.datapaths().isEmpty()) {
      throw new UsageException(
          "--openflow-port needs the datapaths of switches: network.openflow.datapaths in "
              + inventoryFile);
    }
    return Optional.of(
        new SwitchSettings(
            ControllerCommand.listenAt(openFlowAddress, openFlowPort), map, switchTls));
  }
}
