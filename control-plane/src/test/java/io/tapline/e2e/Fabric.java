package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testbed.FatTreePlan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A testbed with a unique name and no controller. {@link #close} removes it; if this process is
 * killed, a guard in a separate session removes it.
 */
final class Fabric implements AutoCloseable {
  private static final long AWAIT_NS = 120_000_000_000L;
  private static final String MIRROR = "cookie=0x7a91020000000000/0xffffff0000000000";
  private static final Path FOLDER = Path.of("/run/tapline-testbed");

  final String name = "t" + Integer.toString(ThreadLocalRandom.current().nextInt(9999), 36);
  final int openFlowPort;
  private final TreeSet<String> before;
  private final Path guarded = Files.createTempFile("tapline-test-", ".pids");
  private final Cli.Running guard;

  private Fabric() throws IOException {
    openFlowPort = Server.freePort();
    before = ours();
    guard = guard();
  }

  /** Skips the test, with the reason, on hosts that can't create links in network namespaces. */
  static void requireNamespaces() {
    assumeTrue("root".equals(System.getProperty("user.name")), "SKIPPED: namespaces need root");
    String make =
        "mount -t tmpfs tmpfs /run && ip link add v0 type veth && ip link add b0 type bridge";
    String[] probe = {
      "unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--mount-proc", "--fork", "sh", "-c"
    };
    List<String> command = new ArrayList<>(List.of(probe));
    command.add(make);
    assumeTrue(
        run(command).exitCode() == 0, "SKIPPED: namespaces, veths or bridges are not available");
  }

  /** Skips the test, with the reason, on hosts that can't run a testbed. */
  static void require() {
    assumeTrue("root".equals(System.getProperty("user.name")), "SKIPPED: a testbed needs root");
    assumeTrue(
        Files.exists(Path.of("/usr/sbin/ovs-vswitchd")), "SKIPPED: openvswitch-switch is missing");
    String[] probe = {"unshare", "--net", "ip", "link", "add", "v0", "type", "veth"};
    assumeTrue(
        run(List.of(probe)).exitCode() == 0,
        "SKIPPED: network namespaces or veths are not available");
  }

  /** Reserves a name and starts the guard; the testbed is not up yet. */
  static Fabric named() throws IOException {
    require();
    return new Fabric();
  }

  static Fabric up(String... options) throws IOException {
    Fabric fabric = named();
    try {
      fabric.testbed("up", options).expectSuccess();
    } catch (AssertionError e) {
      fabric.close();
      throw e;
    }
    return fabric;
  }

  Cli.Result testbed(String action, String... options) {
    List<String> words = new ArrayList<>(List.of("testbed", action, "--name", name));
    if (action.equals("up")) {
      words.addAll(List.of("--openflow-port", Integer.toString(openFlowPort)));
    }
    words.addAll(List.of(options));
    return Cli.run(words.toArray(String[]::new));
  }

  /** Registers a process of this host, so that the guard also ends it. */
  void guards(Process process) throws IOException {
    Files.writeString(guarded, process.pid() + "\n", StandardOpenOption.APPEND);
  }

  private Cli.Running guard() {
    String down = String.join(" ", Cli.tapline("testbed", "down", "--name", name));
    String wait = "while [ -d /proc/%d ]; do sleep 1; done; kill -9 $(cat %s); rm %s; exec %s";
    String script = wait.formatted(ProcessHandle.current().pid(), guarded, guarded, down);
    return Cli.startCommand(Map.of(), List.of("setsid", "sh", "-c", script));
  }

  Path folder() {
    return FOLDER.resolve(name);
  }

  String inventory() {
    return folder().resolve("inventory.yaml").toString();
  }

  JsonNode status() {
    return testbed("status", "--json").json().get(0);
  }

  /** Returns the devices, namespaces, processes and files that have the testbed's name. */
  TreeSet<String> ours() throws IOException {
    TreeSet<String> all = new TreeSet<>();
    for (Path place : List.of(Path.of("/sys/class/net"), Path.of("/run/netns"), FOLDER)) {
      if (Files.isDirectory(place)) {
        try (Stream<Path> files = Files.list(place)) {
          files.map(Path::toString).filter(file -> named(file, name)).forEach(all::add);
        }
      }
    }
    ProcessHandle.allProcesses()
        .map(process -> process.info().commandLine().orElse(""))
        .filter(line -> line.contains(folder() + "/"))
        .forEach(all::add);
    return all;
  }

  private static boolean named(String file, String name) {
    String last = file.substring(file.lastIndexOf('/') + 1);
    return last.equals(name) || last.startsWith(name + "-") || last.startsWith(name + ".");
  }

  static Cli.Result run(List<String> words) {
    try (Cli.Running running = Cli.startCommand(Map.of(), words)) {
      return running.await(120);
    }
  }

  /** Returns a command that runs in a host's namespace. */
  List<String> in(String host, String... words) {
    List<String> all = new ArrayList<>(List.of("ip", "netns", "exec", name + "-" + host));
    all.addAll(List.of(words));
    return all;
  }

  /**
   * Cuts a host off from its switch's copies by silently dropping packets on the cable. Returns
   * false if this is impossible.
   */
  boolean cut(String host) {
    return run(List.of("tc", "qdisc", "add", "dev", mirrorPort(host), "root", "blackhole"))
            .exitCode()
        == 0;
  }

  /** Undoes {@link #cut}. */
  void mend(String host) {
    run(List.of("tc", "qdisc", "del", "dev", mirrorPort(host), "root")).expectSuccess();
  }

  /** Returns the number of packets that the kernel queue of a switch's port dropped. */
  long dropped(String port) {
    String shown =
        run(List.of("tc", "-s", "qdisc", "show", "dev", name + "-" + port))
            .expectSuccess()
            .stdout();
    return Long.parseLong(shown.replaceFirst("(?s).*?dropped (\\d+).*", "$1"));
  }

  /**
   * Connects a host's mirror0 to another switch as well, at a port with this number. mirror0
   * becomes a bridge of both cables that does not forward between them. The caller must add the
   * port to the inventory.
   */
  void connectMonitor(String host, String switchName, int port) throws IOException {
    String bridge =
        plan().switches().stream()
            .filter(sw -> sw.id().equals(switchName))
            .findFirst()
            .orElseThrow()
            .bridge();
    String script =
        """
        set -e
        space=$1; cable=$2; bridge=$3; port=$4; database=$5
        if ! ip -n $space link show copies0 >/dev/null 2>&1; then
          ip -n $space link set mirror0 down
          ip -n $space link set mirror0 name copies0
          ip -n $space link add mirror0 type bridge mcast_snooping 0
          ip -n $space link set copies0 arp off master mirror0 up
          ip -n $space link set mirror0 arp off promisc on up
          bridge -n $space link set dev copies0 isolated on
        fi
        ip link add $cable type veth peer name copies$port netns $space
        ip link set $cable addrgenmode none up
        ip -n $space link set copies$port arp off master mirror0 up
        bridge -n $space link set dev copies$port isolated on
        ovs-vsctl --db=unix:$database -- add-port $bridge $cable -- set interface $cable ofport_request=$port
        """;
    String cable = bridge + "m" + port;
    run(List.of(
            "sh",
            "-c",
            script,
            "sh",
            name + "-" + host,
            cable,
            bridge,
            "" + port,
            folder().resolve("db.sock").toString()))
        .expectSuccess();
  }

  FatTreePlan plan() {
    return new FatTreePlan(name, 4, 0);
  }

  private String mirrorPort(String host) {
    return host.replaceFirst("h-(\\d)-(\\d)-(\\d)", name + "-e$1$2m$3");
  }

  Cli.Running start(String host, String... words) {
    return Cli.startCommand(Map.of(), in(host, words));
  }

  /**
   * Makes hosts wait for five seconds before they retransmit. Otherwise, if the machine were
   * suspended for longer than TCP's usual timeout, the end of a connection would be sent twice, and
   * a host whose connection has already been closed would answer with a reset.
   */
  void slowRetransmissions() {
    String script =
        "set -e; for n in $(ip netns list | cut -d' ' -f1 | grep ^$0-h-); do"
            + " ip -n $n route replace 10.0.0.0/8 dev eth0 rto_min 5s;"
            + " ip netns exec $n sysctl -qw net.ipv4.tcp_early_retrans=0; done";
    run(List.of("sh", "-c", script, name)).expectSuccess();
  }

  /**
   * Returns the supervisor's record of a process: its PID (0 while it is not running) and its
   * number of restarts.
   */
  JsonNode process(String process) throws IOException {
    JsonNode all = Cli.parse(Files.readString(folder().resolve("processes.json")));
    for (JsonNode element : all) {
      if (element.path("name").asText().equals(process)) {
        return element;
      }
    }
    throw new AssertionError("no " + process + " in " + all);
  }

  /**
   * Kills a process with SIGKILL; returns once it has been replaced, and fails if it restarted more
   * than once.
   */
  void killAndAwaitAnother(String process) throws Exception {
    JsonNode previousNode = process(process);
    ProcessHandle.of(previousNode.path("pid").asLong()).orElseThrow().destroyForcibly();
    await(
        "another " + process,
        () -> {
          long pid = process(process).path("pid").asLong();
          return pid > 0 && pid != previousNode.path("pid").asLong();
        });
    assertThat(process(process).path("restarts").asInt())
        .isEqualTo(previousNode.path("restarts").asInt() + 1);
  }

  /** Returns the process ID of one of Open vSwitch's daemons. */
  long pid(String daemon) throws IOException {
    return Long.parseLong(Files.readString(folder().resolve(daemon + ".pid")).strip());
  }

  /**
   * Returns the state of each switch by bridge: flows with their cookies, groups and meters. Omits
   * bridges that do not answer.
   */
  Map<String, String> switches() throws IOException {
    Map<String, String> all = new TreeMap<>();
    try (Stream<Path> files = Files.list(folder())) {
      for (Path statusFile :
          files.filter(file -> file.toString().endsWith(".mgmt")).sorted().toList()) {
        String target = "unix:" + statusFile;
        String script =
            "for d in flows groups meters; do ovs-ofctl -O OpenFlow14 dump-$d $0; done"
                + " | sed -e 's/ duration=[0-9.]*s,//; s/ n_packets=[0-9]*, n_bytes=[0-9]*,//; s/ (xid=[^)]*)//'"
                + " -e 's/ *\\(idle\\|hard\\)_age=[0-9]*,//' | sort";
        Cli.Result dumped = run(List.of("sh", "-c", script, target));
        String bridge = statusFile.getFileName().toString().replaceFirst("\\.mgmt$", "");
        all.put(bridge.substring(name.length() + 1), dumped.stdout());
      }
    }
    return all;
  }

  /**
   * Returns the rules without the epochs in their cookies, since a later controller's rules are
   * equivalent.
   */
  Map<String, String> rules() throws IOException {
    Map<String, String> all = new TreeMap<>(switches());
    all.replaceAll((bridge, flows) -> sorted(flows.replaceAll("(cookie=0x7a91..)\\w{10}", "$1")));
    return all;
  }

  private static String sorted(String lines) {
    return lines.lines().sorted().collect(Collectors.joining("\n"));
  }

  /** Changes a switch externally, with {@code ovs-ofctl ACTION … SWITCH …}. */
  void openFlow(String action, String bridge, String... words) {
    List<String> command = new ArrayList<>(List.of("ovs-ofctl", "-O", "OpenFlow14", action));
    command.add("unix:" + folder().resolve(name + "-" + bridge + ".mgmt"));
    command.addAll(List.of(words));
    run(command).expectSuccess();
  }

  /** Runs a command on the switches' database and returns its output. */
  String database(String... words) {
    List<String> command =
        new ArrayList<>(List.of("ovs-vsctl", "--db=unix:" + folder().resolve("db.sock")));
    command.addAll(List.of(words));
    return run(command).expectSuccess().stdout().strip();
  }

  /** Returns a switch's ports, with their states. */
  String ports(String bridge) {
    String target = "unix:" + folder().resolve(name + "-" + bridge + ".mgmt");
    return run(List.of("ovs-ofctl", "-O", "OpenFlow14", "show", target)).expectSuccess().stdout();
  }

  /** Returns the number of packets that each bridge with our mirror rules has copied. */
  Map<String, Long> mirroring() throws IOException {
    Map<String, Long> all = new TreeMap<>();
    for (String bridge : switches().keySet()) {
      String target = "unix:" + folder().resolve(name + "-" + bridge + ".mgmt");
      List<String> dump = List.of("ovs-ofctl", "-O", "OpenFlow14", "dump-flows", target, MIRROR);
      List<String> lines =
          run(dump).expectSuccess().stdout().lines().filter(l -> l.contains("cookie=")).toList();
      if (!lines.isEmpty()) {
        all.put(bridge, lines.stream().mapToLong(Fabric::packets).sum());
      }
    }
    return all;
  }

  /**
   * Returns the number of packets that our mirror rules in a bridge have copied, by the bridge's
   * counters.
   */
  long copied(String bridge) {
    return matched(bridge, MIRROR);
  }

  /** Returns the number of packets that each of our mirror rules in a bridge has copied. */
  Map<String, Long> copiedByRule(String bridge) {
    return flows(bridge, MIRROR)
        .collect(Collectors.toMap(line -> line.replaceFirst(".*priority=", ""), Fabric::packets));
  }

  /**
   * Returns our mirror rules in a bridge in the syntax of {@code ovs-ofctl add-flow}, without their
   * cookies.
   */
  List<String> mirrorRules(String bridge) {
    return flows(bridge, MIRROR)
        .map(line -> line.strip().replaceAll("(cookie|duration|n_packets|n_bytes)=[^,]*, *", ""))
        .sorted()
        .toList();
  }

  /** Returns the number of packets that matched a switch's flows with the given match. */
  long matched(String bridge, String match) {
    return flows(bridge, match).mapToLong(Fabric::packets).sum();
  }

  /** Returns the flows of a bridge with the given match, as {@code ovs-ofctl} prints them. */
  private Stream<String> flows(String bridge, String match) {
    String target = "unix:" + folder().resolve(name + "-" + bridge + ".mgmt");
    return run(List.of("ovs-ofctl", "-O", "OpenFlow14", "dump-flows", target, match))
        .expectSuccess()
        .stdout()
        .lines()
        .filter(line -> line.contains("cookie="));
  }

  private static long packets(String flow) {
    return Long.parseLong(flow.replaceFirst(".*n_packets=(\\d+),.*", "$1"));
  }

  /** Waits until every switch forwards to every host. */
  void awaitForwarding() throws Exception {
    await(
        "20 switches forward to 16 hosts",
        () ->
            switches().values().stream()
                .allMatch(
                    flows -> flows.lines().filter(line -> line.contains("dl_dst=")).count() == 16));
  }

  static void await(String awaited, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + AWAIT_NS;
    while (!condition.call()) {
      assertThat(System.nanoTime()).as(awaited).isLessThan(deadline);
      Thread.sleep(200);
    }
  }

  /** Removes the testbed; fails if any part of it remains. */
  @Override
  public void close() throws IOException {
    testbed("down");
    guard.close();
    Files.deleteIfExists(guarded);
    assertThat(ours()).isEqualTo(before);
  }
}
