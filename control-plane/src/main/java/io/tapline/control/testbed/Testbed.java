package io.tapline.control.testbed;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A fat tree on this host: bridges of an Open vSwitch of its own in the userspace datapath, a
 * namespace for each host, and a controller. Everything it has is in one folder below /run; what
 * was not made by it is never touched.
 */
public final class Testbed {
  private static final Path FOLDER = Path.of("/run/tapline-testbed");
  private static final String SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema";
  private static final List<String> PROGRAMS =
      List.of("ip", "ethtool", "sysctl", "ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl");

  /** The device that the first userspace datapath of a host makes for itself, and leaves. */
  private static final String DATAPATH = "ovs-netdev";

  private static final long SETTLE_NS = 120_000_000_000L;

  /** In the order in which they end. */
  static final List<String> DAEMONS =
      List.of("controller", Supervisor.NAME, "ovs-vswitchd", "ovsdb-server");

  private final String name;
  private final Path home;
  private final Path folder;
  private final Programs programs;
  private final OwnProcesses processes;
  private final Removal removal;

  /**
   * A testbed, which may be there or not.
   *
   * @param home Tapline's own folder, whose controller it runs
   */
  public Testbed(String name, Path home) {
    this.name = name;
    this.home = home;
    this.folder = FOLDER.resolve(name);
    this.programs = new Programs(Map.of("OVS_RUNDIR", folder.toString()));
    this.processes = new OwnProcesses(folder);
    this.removal = new Removal(folder, programs, processes);
  }

  public Path folder() {
    return folder;
  }

  /** What stops a testbed on this host; empty if nothing. */
  public static Optional<String> obstacle() {
    if (!"root".equals(System.getProperty("user.name"))) {
      return Optional.of("a testbed needs root: run it with sudo");
    }
    List<String> missing = PROGRAMS.stream().filter(each -> !Programs.isThere(each)).toList();
    return missing.isEmpty()
        ? Optional.empty()
        : Optional.of("these programs are missing: %s; run make deps".formatted(missing));
  }

  /**
   * Makes it; nothing happens if it is there.
   *
   * @param openFlowPort of the controller
   * @param ownController whether to run one; else somebody else does
   * @return whether it had to be made
   */
  public boolean up(FatTreePlan plan, int openFlowPort, boolean ownController)
      throws TestbedException {
    require();
    try (FileLock lock = lock()) {
      Optional<TestbedState> there = TestbedState.read(folder);
      if (there.isPresent() && there.get().complete()) {
        requireSame(there.get(), plan, openFlowPort, ownController);
        return false;
      } else if (there.isPresent()) {
        removal.remove(there.get());
      }
      requireFree(plan);
      TestbedState state =
          new TestbedState(
              name,
              plan.k(),
              plan.linkMbit(),
              openFlowPort,
              ownController,
              false,
              isDevice(DATAPATH) ? List.of() : List.of(DATAPATH),
              KernelSettings.now());
      state.write(folder);
      KernelSettings.raise(state.kernel());
      try {
        make(plan, openFlowPort);
        if (ownController) {
          startController(plan, openFlowPort);
        }
        state.completed().write(folder);
      } catch (TestbedException e) {
        removal.remove(state);
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
    Files.createDirectories(folder);
    return FileChannel.open(
            FOLDER.resolve(name + ".lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)
        .lock();
  }

  private void requireSame(
      TestbedState there, FatTreePlan plan, int openFlowPort, boolean ownController)
      throws TestbedException {
    boolean same =
        there.plan().equals(plan)
            && there.openFlowPort() == openFlowPort
            && there.ownController() == ownController;
    if (!same) {
      throw new TestbedException(
          "testbed %s is up with other settings (%s): take it down first".formatted(name, there));
    }
    for (String daemon : DAEMONS) {
      boolean wanted = ownController || !daemon.equals("controller");
      if (wanted && processes.find(daemon).isEmpty()) {
        throw new TestbedException(
            "testbed %s is up, but its %s is gone: take it down and up again"
                .formatted(name, daemon));
      }
    }
  }

  /** Names that are taken are somebody else's. */
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
          "these were not made by testbed %s and are in its way: %s; choose another --name"
              .formatted(name, taken.size() > 5 ? taken.subList(0, 5) + "…" : taken));
    }
  }

  static boolean isDevice(String device) {
    return Files.exists(Path.of("/sys/class/net", device));
  }

  private void make(FatTreePlan plan, int openFlowPort) throws TestbedException {
    programs.run(plan.ipCommands(), List.of("ip", "-batch", "-"));
    for (FatTreePlan.Node host : plan.hosts()) {
      programs.run(
          plan.hostCommands(host),
          List.of("ip", "netns", "exec", host.namespace(), "sh", "-e", "-s"));
    }
    String database = folder.resolve("conf.db").toString();
    Map<String, List<String>> daemons = new LinkedHashMap<>();
    Path socket = folder.resolve("db.sock");
    daemons.put("ovsdb-server", daemon("ovsdb-server", database, "--remote=punix:" + socket));
    daemons.put("ovs-vswitchd", daemon("ovs-vswitchd", "unix:" + socket));
    programs.run("ovsdb-tool", "create", database, SCHEMA);
    programs.run("", daemons.get("ovsdb-server"));
    programs.run("ovs-vsctl", database(), "--no-wait", "init");
    programs.run("", daemons.get("ovs-vswitchd"));
    List<String> bridges = new ArrayList<>(List.of("ovs-vsctl", database(), "--timeout=60"));
    bridges.addAll(plan.bridgeCommands(openFlowPort));
    programs.run("", bridges);
    processes.start(Supervisor.NAME, Supervisor.command(folder, daemons));
    write("inventory.yaml", plan.inventory());
  }

  private String database() {
    return "--db=unix:" + folder.resolve("db.sock");
  }

  private List<String> daemon(String program, String... arguments) {
    List<String> command = new ArrayList<>(List.of(program));
    command.addAll(List.of(arguments));
    command.add("--pidfile=" + folder.resolve(program + ".pid"));
    command.add("--unixctl=" + folder.resolve(program + ".ctl"));
    command.add("--log-file=" + folder.resolve(program + ".log"));
    command.addAll(List.of("--detach", "--no-chdir", "-vconsole:off"));
    return command;
  }

  private void write(String file, String text) throws TestbedException {
    try {
      Files.writeString(folder.resolve(file), text);
    } catch (IOException e) {
      throw new TestbedException("can't write " + folder.resolve(file), e);
    }
  }

  /** Starts the controller and waits until it has found everything. */
  private void startController(FatTreePlan plan, int openFlowPort) throws TestbedException {
    processes.start(
        "controller",
        List.of(
            "setsid",
            home.resolve("bin/tapline").toString(),
            "controller",
            "--openflow-port=" + openFlowPort,
            "--inventory=" + folder.resolve("inventory.yaml"),
            "--status=" + folder.resolve("status.json")));
    long endNs = System.nanoTime() + SETTLE_NS;
    while (!isComplete(plan)) {
      boolean runs = processes.find("controller").isPresent();
      if (!runs || System.nanoTime() > endNs) {
        throw new TestbedException(
            "the controller %s: %s"
                .formatted(
                    runs ? "does not find the whole network" : "ended",
                    processes.lastWords("controller")));
      }
      pause();
    }
  }

  private static void pause() throws TestbedException {
    try {
      Thread.sleep(100);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TestbedException("interrupted", e);
    }
  }

  private boolean isComplete(FatTreePlan plan) {
    JsonNode status = controllerStatus();
    return status.path("switches").size() == plan.switches().size()
        && status.path("links").asInt() == plan.cables().size()
        && status.path("hosts").size() == plan.hosts().size()
        && status.path("settled").asBoolean();
  }

  /** What its controller last said; missing if there is none. */
  public JsonNode controllerStatus() {
    try {
      return new ObjectMapper().readTree(folder.resolve("status.json").toFile());
    } catch (IOException e) {
      return new ObjectMapper().missingNode();
    }
  }

  /** What is there; empty if nothing. */
  public Optional<TestbedState> state() throws TestbedException {
    return TestbedState.read(folder);
  }

  /** Which daemons run. */
  public List<String> running() {
    return DAEMONS.stream().filter(daemon -> processes.find(daemon).isPresent()).toList();
  }

  /**
   * Removes all of it; nothing happens if it is not there.
   *
   * @return whether there was anything
   */
  public boolean down() throws TestbedException {
    require();
    if (!Files.exists(folder)) {
      return false;
    }
    try (FileLock lock = lock()) {
      Optional<TestbedState> there = TestbedState.read(folder);
      if (there.isPresent()) {
        removal.remove(there.get());
      }
      removal.deleteFolder();
      Files.deleteIfExists(FOLDER.resolve(name + ".lock"));
      return there.isPresent();
    } catch (IOException e) {
      throw new TestbedException("can't use " + folder + ": " + e.getMessage(), e);
    }
  }
}
