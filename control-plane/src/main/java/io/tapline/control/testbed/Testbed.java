package io.tapline.control.testbed;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A fat tree on this machine: bridges of a dedicated Open vSwitch with the userspace datapath; a
 * namespace for each host, with an agent and a MultiLog node if requested; and a controller and a
 * collector if requested. All its files are in /run/tapline-testbed. It changes nothing that it has
 * not created, except for socket buffer sizes, which {@link #down} restores.
 */
public final class Testbed {
  private static final Path FOLDER = Path.of("/run/tapline-testbed");
  private static final String SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema";
  private static final List<String> PROGRAMS =
      List.of(
          "ip",
          "ethtool",
          "sysctl",
          "setsid",
          "chrt",
          "python3",
          "ovsdb-tool",
          "ovsdb-server",
          "ovs-vswitchd",
          "ovs-vsctl");

  /** The device that the first userspace datapath of a host creates and leaves behind. */
  private static final String DATAPATH = "ovs-netdev";

  private final String name;
  private final Path folder;
  private final Daemons daemons;
  private final Supervisor supervisor;
  private final Programs programs;
  private final OwnProcesses processes;
  private final Removal removal;

  /**
   * Represents a testbed, which may already exist; {@link #up} creates it.
   *
   * @param home Tapline's folder, whose scripts it runs
   * @param nativePrograms folder of Tapline's native programs
   */
  public Testbed(String name, Path home, Path nativePrograms) {
    this.name = name;
    this.folder = FOLDER.resolve(name);
    this.daemons = new Daemons(home, nativePrograms, folder);
    this.supervisor = new Supervisor(home, folder);
    this.programs = new Programs(Daemons.environment(folder));
    this.processes = new OwnProcesses(folder);
    this.removal = new Removal(folder, programs, processes);
  }

  public Path folder() {
    return folder;
  }

  /** Returns the reason why this host can't have a testbed; empty if it can. */
  public static Optional<String> obstacle() {
    if (!"root".equals(System.getProperty("user.name"))) {
      return Optional.of("a testbed needs root: run it with sudo");
    }
    List<String> missing = PROGRAMS.stream().filter(program -> !Programs.exists(program)).toList();
    return missing.isEmpty()
        ? Optional.empty()
        : Optional.of(
            "these programs are missing: %s; install the packages ethtool, iproute2, openvswitch-switch, procps and python3"
                .formatted(missing));
  }

  /**
   * Creates the testbed. If it exists and is complete, only restarts dead processes; removes an
   * incomplete one first.
   *
   * @param openFlowPort port on which the controller accepts switches
   * @param ownController true to run a controller; otherwise the user runs one
   * @param agents the programs in hosts
   * @return true if the testbed had to be created
   */
  public boolean up(FatTreePlan plan, int openFlowPort, boolean ownController, Agents agents)
      throws TestbedException {
    require();
    requirePrograms(!agents.hosts().isEmpty() || plan.collector() != null);
    if (plan.hasDpdk() && !Files.isExecutable(Path.of(Daemons.WITH_DPDK))) {
      throw new TestbedException(
          "memif mirror ports and polled ports need Open vSwitch with DPDK (no %s): apt-get install openvswitch-switch-dpdk"
              .formatted(Daemons.WITH_DPDK));
    }
    try (FileLock lock = lock()) {
      Optional<TestbedState> running = TestbedState.read(folder);
      if (running.isPresent() && !running.get().complete()) {
        removal.remove(running.get());
      }
      TestbedState wantedState =
          new TestbedState(
              name,
              plan.k(),
              plan.linkMbit(),
              plan.queuePackets(),
              plan.memif(),
              plan.polled(),
              plan.collector(),
              openFlowPort,
              ownController,
              agents,
              false,
              isDevice(DATAPATH) ? List.of() : List.of(DATAPATH),
              KernelSettings.now());
      if (running.isPresent() && running.get().complete()) {
        keep(running.get(), wantedState);
        return false;
      }
      requireFree(plan);
      wantedState.write(folder);
      try {
        make(wantedState);
        wantedState.completed().write(folder);
      } catch (TestbedException e) {
        removal.remove(wantedState);
        throw e;
      }
      return true;
    } catch (IOException e) {
      throw new TestbedException("can't use " + folder + ": " + e.getMessage(), e);
    }
  }

  private static void require() throws TestbedException {
    Optional<String> obstacle = obstacle();
    if (obstacle.isPresent()) {
      throw new TestbedException(obstacle.get());
    }
  }

  private FileLock lock() throws IOException {
    makeFolder(folder);
    return FileChannel.open(
            FOLDER.resolve(name + ".lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)
        .lock();
  }

  /**
   * Creates a folder that only its user can access: it contains sockets that control switches and
   * return packets' headers.
   */
  static void makeFolder(Path folder) throws IOException {
    Files.createDirectories(
        folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
  }

  private void requirePrograms(boolean hasAny) throws TestbedException {
    for (String program : Daemons.IN_HOSTS) {
      if (hasAny && !Files.isExecutable(daemons.program(program))) {
        throw new TestbedException(
            "the native programs are not built (no %s): run make build"
                .formatted(daemons.program(program)));
      }
    }
  }

  /**
   * Keeps a complete testbed, whose supervisor restarts dead processes; starts a supervisor if
   * there is none.
   */
  private void keep(TestbedState running, TestbedState wantedState) throws TestbedException {
    if (!running.wants(wantedState)) {
      throw new TestbedException(
          "testbed %s is up with different settings (%s): take it down first"
              .formatted(name, running));
    }
    if (processes.find(Supervisor.NAME).isEmpty()) {
      supervisor.start(daemons.of(running));
    }
    awaitAll(running);
  }

  /**
   * Throws if there are devices or namespaces with the plan's names, since they are not the
   * testbed's.
   */
  private void requireFree(FatTreePlan plan) throws TestbedException {
    List<String> taken = new ArrayList<>();
    plan.devices().stream()
        .filter(Testbed::isDevice)
        .forEach(device -> taken.add("device " + device));
    plan.namespaces().stream()
        .filter(namespace -> Files.exists(Path.of("/run/netns", namespace)))
        .forEach(namespace -> taken.add("namespace " + namespace));
    if (!taken.isEmpty()) {
      throw new TestbedException(
          "these do not belong to testbed %s and conflict with it: %s; choose another --name"
              .formatted(name, taken.size() > 5 ? taken.subList(0, 5) + "…" : taken));
    }
  }

  static boolean isDevice(String device) {
    return Files.exists(Path.of("/sys/class/net", device));
  }

  private void make(TestbedState state) throws TestbedException {
    KernelSettings.raise(state.kernel());
    FatTreePlan plan = state.plan();
    programs.run(plan.ipCommands(), List.of("ip", "-batch", "-"));
    for (FatTreePlan.Node host : plan.hosts()) {
      programs.run(
          plan.hostCommands(host),
          List.of("ip", "netns", "exec", host.namespace(), "sh", "-e", "-s"));
    }
    if (plan.collector() != null) {
      programs.run(
          plan.collectorCommands(),
          List.of("ip", "netns", "exec", plan.collectorNamespace(), "sh", "-e", "-s"));
    }
    write("inventory.yaml", plan.inventory());
    makeSwitches(plan, state.openFlowPort());
    supervisor.start(daemons.of(state));
    awaitAll(state);
  }

  private void makeSwitches(FatTreePlan plan, int openFlowPort) throws TestbedException {
    String database = "--db=unix:" + daemons.databaseSocket();
    programs.run("ovsdb-tool", "create", daemons.databaseFile().toString(), SCHEMA);
    programs.run("", daemons.database().command());
    programs.run("ovs-vsctl", database, "--no-wait", "init");
    Bridges bridges = new Bridges(plan, folder);
    if (plan.hasDpdk()) {
      programs.run("", words(List.of("ovs-vsctl", database, "--no-wait"), bridges.beforehand()));
    }
    programs.run("", daemons.switches(plan.hasDpdk()).command());
    programs.run(
        "", words(List.of("ovs-vsctl", database, "--timeout=60"), bridges.commands(openFlowPort)));
    requireSwitches(plan);
    requireDpdkPorts(database);
    programs.run(bridges.queues(), List.of("tc", "-batch", "-"));
    programs.run("", List.of("sh", "-c", daemons.prioritizePolling()));
  }

  private static List<String> words(List<String> first, List<String> furtherArguments) {
    return Stream.concat(first.stream(), furtherArguments.stream()).toList();
  }

  /**
   * Verifies the switches and memif ports, since ovs-vsctl does not reliably report failures to
   * create them.
   */
  private void requireSwitches(FatTreePlan plan) throws TestbedException {
    for (FatTreePlan.Switch sw : plan.switches()) {
      if (!isDevice(sw.bridge())) {
        throw new TestbedException(
            "Open vSwitch did not create bridge %s; a host can have one userspace datapath (device %s) at a time: is there another testbed?"
                .formatted(sw.bridge(), DATAPATH));
      }
    }
    for (FatTreePlan.Node host : plan.hosts()) {
      if (plan.memif() && !Files.exists(Bridges.mirrorSocket(folder, host))) {
        throw new TestbedException("Open vSwitch did not create a memif port for " + host.id());
      }
    }
  }

  /** Verifies the DPDK ports, since ovs-vsctl succeeds even if Open vSwitch can't use a port. */
  private void requireDpdkPorts(String database) throws TestbedException {
    String failures =
        programs.run(
            "ovs-vsctl",
            database,
            "--bare",
            "--columns=name,error",
            "find",
            "interface",
            "type=dpdk",
            "error!=[]");
    if (!failures.isEmpty()) {
      throw new TestbedException(
          "Open vSwitch can't use these ports with DPDK: %s; --queue-packets may need more memory than there is"
              .formatted(failures.replaceAll("\n\n+", "; ").replace("\n", ": ")));
    }
  }

  private void awaitAll(TestbedState state) throws TestbedException {
    new Readiness(state, daemons, processes, this::controllerStatus).await();
  }

  private void write(String file, String text) throws TestbedException {
    try {
      Files.writeString(folder.resolve(file), text);
    } catch (IOException e) {
      throw new TestbedException("can't write " + folder.resolve(file), e);
    }
  }

  /** Returns the latest status of the testbed's controller; a missing node if there is none. */
  public JsonNode controllerStatus() {
    try {
      return new ObjectMapper().readTree(folder.resolve("status.json").toFile());
    } catch (IOException e) {
      return new ObjectMapper().missingNode();
    }
  }

  /** Returns the existing testbed's state; empty if there is none. */
  public Optional<TestbedState> state() throws TestbedException {
    return TestbedState.read(folder);
  }

  /**
   * Returns the testbed's processes, as its supervisor recorded them; empty if no supervisor has
   * run.
   */
  public List<TestbedProcess> processes() {
    return processes.all();
  }

  /**
   * Removes the testbed; does nothing if it does not exist.
   *
   * @return true if there was anything to remove
   */
  public boolean down() throws TestbedException {
    require();
    if (!Files.exists(folder)) {
      return false;
    }
    try (FileLock lock = lock()) {
      Optional<TestbedState> running = TestbedState.read(folder);
      if (running.isPresent()) {
        removal.remove(running.get());
      }
      removal.deleteFolder();
      Files.deleteIfExists(FOLDER.resolve(name + ".lock"));
      return running.isPresent();
    } catch (IOException e) {
      throw new TestbedException("can't use " + folder + ": " + e.getMessage(), e);
    }
  }
}
