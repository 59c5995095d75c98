package io.tapline.control.testbed;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The commands of a testbed's programs; nothing runs here. */
final class Daemons {
  static final String CONTROLLER = "controller";
  static final String SWITCHES = "ovs-vswitchd";
  static final String DATABASE = "ovsdb-server";

  /** Native programs of Tapline that hosts run. */
  static final List<String> IN_HOSTS =
      List.of("tapline-agent", "tapline-monitor", "tapline-multilog");

  private final Path home;
  private final Path folder;

  /**
   * Commands that name their testbed's folder, each.
   *
   * @param home Tapline's own folder
   * @param folder of the testbed
   */
  Daemons(Path home, Path folder) {
    this.home = home;
    this.folder = folder;
  }

  /** All of a testbed, in the order in which they start. */
  List<Daemon> of(TestbedState state) {
    List<Daemon> all = new ArrayList<>(List.of(database(), switches()));
    if (state.ownController()) {
      all.add(controller(state.openFlowPort()));
    }
    for (FatTreePlan.Node host : state.plan().hosts()) {
      if (state.agents().hosts().contains(host.id())) {
        all.add(node(host, state.agents().nodeMemoryMib()));
        all.add(agent(host, state.agents().controlPlanes()));
      }
    }
    return all;
  }

  Daemon database() {
    return openVswitch(DATABASE, databaseFile().toString(), "--remote=punix:" + databaseSocket());
  }

  Daemon switches() {
    return openVswitch(SWITCHES, "unix:" + databaseSocket());
  }

  Path databaseFile() {
    return folder.resolve("conf.db");
  }

  Path databaseSocket() {
    return folder.resolve("db.sock");
  }

  private Daemon openVswitch(String program, String... arguments) {
    List<String> command = new ArrayList<>(List.of(program));
    command.addAll(List.of(arguments));
    command.add("--pidfile=" + folder.resolve(program + ".pid"));
    command.add("--unixctl=" + folder.resolve(program + ".ctl"));
    command.add("--log-file=" + folder.resolve(program + ".log"));
    command.addAll(List.of("--detach", "--no-chdir", "-vconsole:off"));
    return new Daemon(program, command, program + ".pid");
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

  /** Of the headers of the host's own traffic. Hugepages would not do for so many. */
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

  /** A socket file is the same in all network namespaces, and needs no certificate. */
  Path nodeSocket(String host) {
    return folder.resolve("node-" + host + ".sock");
  }

  private Daemon agent(FatTreePlan.Node host, List<String> controlPlanes) {
    return inHost(
        "agent-" + host.id(),
        host,
        "tapline-agent",
        "--name=" + host.id(),
        "--interface=mirror0",
        "--control-plane=" + String.join(",", controlPlanes),
        "--multilog=unix:" + nodeSocket(host.id()),
        "--memory-mib=64",
        "--max-connections=65536",
        "--hugepages=never");
  }

  private Daemon inHost(String name, FatTreePlan.Node host, String program, String... arguments) {
    List<String> command = new ArrayList<>(List.of("ip", "netns", "exec", host.namespace()));
    command.add(program(program).toString());
    command.addAll(List.of(arguments));
    return new Daemon(name, command, null);
  }

  /** One of Tapline's native programs. */
  Path program(String name) {
    return home.resolve("build/bin").resolve(name);
  }
}
