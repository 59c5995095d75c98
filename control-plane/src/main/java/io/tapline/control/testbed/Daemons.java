package io.tapline.control.testbed;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Generates the commands of a testbed's programs; runs nothing. */
final class Daemons {
  static final String CONTROLLER = "controller";
  static final String SWITCHES = "ovs-vswitchd";
  static final String DATABASE = "ovsdb-server";

  /**
   * The program from Debian's package openvswitch-switch-dpdk. A search of PATH would find the
   * variant without DPDK, which may also be installed.
   */
  static final String WITH_DPDK = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";

  /**
   * Command prefix that sets the switches' priority. Switches share the processors with all other
   * programs; without priority, a packet waits in a switch for milliseconds while other programs
   * run. The switches have this priority even if the testbed is started from a batch job.
   */
  private static final List<String> BEFORE_OTHERS =
      List.of("chrt", "--other", "0", "nice", "-n", "-20");

  /** Tapline's native programs that run in hosts. */
  static final List<String> IN_HOSTS =
      List.of("tapline-agent", "tapline-monitor", "tapline-multilog");

  private final Path home;
  private final Path programs;
  private final Path folder;

  /**
   * Creates the commands of a testbed.
   *
   * @param home Tapline's folder
   * @param programs folder of Tapline's native programs
   * @param folder folder of the testbed
   */
  Daemons(Path home, Path programs, Path folder) {
    this.home = home;
    this.programs = programs;
    this.folder = folder;
  }

  /** Returns the variables for the folders in which Open vSwitch and DPDK create their files. */
  static Map<String, String> environment(Path folder) {
    return Map.of("OVS_RUNDIR", folder.toString(), "RUNTIME_DIRECTORY", folder.toString());
  }

  /** Returns all daemons of a testbed, in the order in which they start. */
  List<Daemon> of(TestbedState state) {
    List<Daemon> all = new ArrayList<>(List.of(database(), switches(state.plan().hasDpdk())));
    if (state.ownController()) {
      all.add(controller(state.openFlowPort()));
    }
    for (FatTreePlan.Node host : state.plan().hosts()) {
      if (state.agents().hosts().contains(host.id())) {
        all.add(node(host, state.agents().nodeMemoryMib()));
        all.add(agent(host, state));
      }
    }
    if (state.collector() != null) {
      all.add(collector(state));
    }
    return all;
  }

  Daemon database() {
    return openVswitch(
        DATABASE, DATABASE, databaseFile().toString(), "--remote=punix:" + databaseSocket());
  }

  /**
   * Returns the daemon that runs the switches.
   *
   * @param withDpdk true if the switches have DPDK ports
   */
  Daemon switches(boolean withDpdk) {
    String program = withDpdk ? WITH_DPDK : SWITCHES;
    Daemon daemon = openVswitch(SWITCHES, program, "unix:" + databaseSocket());
    List<String> command = new ArrayList<>(BEFORE_OTHERS);
    command.addAll(daemon.command());
    Daemon prior = new Daemon(daemon.name(), command, daemon.pidFile());
    return withDpdk ? withDpdk(prior) : prior;
  }

  /**
   * Returns the daemon with a command that first removes the mirror ports' socket files: DPDK
   * assumes that a killed process still uses them. Polling threads get their priority once the
   * program has detached.
   */
  private Daemon withDpdk(Daemon daemon) {
    String script =
        "rm -f %s; \"$@\" && { %s; }".formatted(Bridges.mirrorSockets(folder), prioritizePolling());
    List<String> command = new ArrayList<>(List.of("sh", "-c", script, "sh"));
    command.addAll(daemon.command());
    return new Daemon(daemon.name(), command, daemon.pidFile());
  }

  /** Returns a shell command that raises the priority of the running switches' polling threads. */
  String prioritizePolling() {
    return PolledPorts.prioritize(folder.resolve(SWITCHES + ".pid"));
  }

  Path databaseFile() {
    return folder.resolve("conf.db");
  }

  Path databaseSocket() {
    return folder.resolve("db.sock");
  }

  private Daemon openVswitch(String name, String program, String... arguments) {
    List<String> command = new ArrayList<>(List.of(program));
    command.addAll(List.of(arguments));
    command.add("--pidfile=" + folder.resolve(name + ".pid"));
    command.add("--unixctl=" + folder.resolve(name + ".ctl"));
    command.add("--log-file=" + folder.resolve(name + ".log"));
    command.addAll(List.of("--detach", "--no-chdir", "-vconsole:off"));
    return new Daemon(name, command, name + ".pid");
  }

  private Daemon controller(int openFlowPort) {
    return new Daemon(
        CONTROLLER,
        List.of(
            home.resolve("bin/tapline").toString(),
            "controller",
            "--openflow-port=" + openFlowPort,
            "--inventory=" + folder.resolve("inventory.yaml"),
            "--status=" + folder.resolve("status.json")),
        null);
  }

  /**
   * Returns a MultiLog node that stores the headers of the host's own traffic. It uses no
   * hugepages, since there are not enough for all nodes.
   */
  private Daemon node(FatTreePlan.Node host, int memoryMib) {
    return inHost(
        "node-" + host.id(),
        host,
        "tapline-multilog",
        "--node=" + host.id(),
        "--interface=eth0",
        "--listen=unix:" + nodeSocket(host.id()),
        "--writers=1",
        "--memory-mib=" + memoryMib,
        "--packet-memory-mib=64",
        "--hugepages=never");
  }

  /**
   * Returns the node's Unix socket, which is reachable from all network namespaces and needs no
   * certificate.
   */
  Path nodeSocket(String host) {
    return folder.resolve("node-" + host + ".sock");
  }

  private Daemon agent(FatTreePlan.Node host, TestbedState state) {
    String memif = "net_memif0,role=client,id=0,socket-abstract=no,socket=";
    return inHost(
        "agent-" + host.id(),
        host,
        "tapline-agent",
        "--name=" + host.id(),
        state.memif()
            ? "--vdev=" + memif + Bridges.mirrorSocket(folder, host)
            : "--interface=mirror0",
        "--control-plane=" + String.join(",", state.agents().controlPlanes()),
        "--clear=control-plane,kafka",
        "--multilog=unix:" + nodeSocket(host.id()),
        "--memory-mib=64",
        "--max-connections=65536",
        "--hugepages=never");
  }

  /** Returns the agent whose monitor has a tap for each switch. */
  private Daemon collector(TestbedState state) {
    List<String> arguments = new ArrayList<>(List.of("--name=" + Collector.NAME));
    for (FatTreePlan.Switch sw : state.plan().switches()) {
      arguments.add("--tap=%s=%s".formatted(sw.id(), sw.collected()));
    }
    arguments.add("--control-plane=" + String.join(",", state.agents().controlPlanes()));
    int memoryMib = Collector.MEMORY_MIB * state.plan().switches().size();
    arguments.addAll(List.of("--clear=control-plane,kafka", "--memory-mib=" + memoryMib));
    arguments.addAll(List.of("--max-connections=65536", "--hugepages=never"));
    return inNamespace(
        Collector.NAME,
        state.plan().collectorNamespace(),
        "tapline-agent",
        arguments.toArray(String[]::new));
  }

  private Daemon inHost(String name, FatTreePlan.Node host, String program, String... arguments) {
    return inNamespace(name, host.namespace(), program, arguments);
  }

  private Daemon inNamespace(String name, String namespace, String program, String... arguments) {
    List<String> command = new ArrayList<>(List.of("ip", "netns", "exec", namespace));
    command.add(program(program).toString());
    command.addAll(List.of(arguments));
    return new Daemon(name, command, null);
  }

  /** Returns the path of one of Tapline's native programs. */
  Path program(String name) {
    return programs.resolve(name);
  }
}
