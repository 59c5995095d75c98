package io.tapline.sdn.mirror;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.tapline.network.EdgeSwitch;
import io.tapline.network.IpPrefix;
import io.tapline.network.rules.MirrorPlanner;
import io.tapline.network.rules.RuleTable;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests the files with a real Open vSwitch, without packets: applying the changes with {@code
 * ovs-ofctl} must give the whole table. Skipped, with the reason, if Open vSwitch is missing.
 */
class FlowFilesTest {
  private static final String SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema";
  private static final List<EdgeSwitch> SWITCHES =
      List.of(
          edge("leaf1", "10.0.0.1", "10.0.0.2", "2001:db8::5"),
          edge("leaf2", "10.0.1.1", "10.0.1.2"));
  private static final Map<String, String> HOST_OF_MONITOR =
      Map.of("monitor-0", "a", "monitor-1", "b", "monitor-2", "e", "monitor-3", "c");
  private static final String FOREIGN = "table=0,priority=7,cookie=0x1234,udp,actions=drop";

  @TempDir private Path folder;
  private final List<Process> daemons = new ArrayList<>();

  @BeforeEach
  void startSwitch() throws Exception {
    assumeTrue(Files.exists(Path.of(SCHEMA)), "SKIPPED: openvswitch-switch is missing");
    run("ovsdb-tool", "create", folder.resolve("conf.db").toString(), SCHEMA);
    daemon("ovsdb-server", "conf.db", "--remote=punix:db.sock");
    await("db.sock");
    run("ovs-vsctl", "--db=unix:db.sock", "--no-wait", "init");
    daemon("ovs-vswitchd", "unix:db.sock", "--enable-dummy", "--disable-system");
    run(
        "ovs-vsctl --db=unix:db.sock --timeout=60 add-br br0 -- set bridge br0 datapath_type=dummy fail_mode=secure protocols=OpenFlow14"
            .split(" "));
    await("br0.mgmt");
    ofctl("add-flow", "br0", FOREIGN);
  }

  @AfterEach
  void stopSwitch() throws Exception {
    for (Process daemon : daemons) {
      daemon.destroyForcibly().waitFor();
    }
  }

  /** Starts a daemon that is killed when this process ends for any reason. */
  private void daemon(String... words) throws IOException {
    List<String> command = new ArrayList<>(List.of("setpriv", "--pdeathsig", "KILL"));
    command.addAll(List.of(words));
    command.add("--unixctl=" + folder.resolve(words[0] + ".ctl"));
    daemons.add(builder(command).redirectOutput(ProcessBuilder.Redirect.DISCARD).start());
  }

  private ProcessBuilder builder(List<String> command) {
    ProcessBuilder builder =
        new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
    builder.environment().put("OVS_RUNDIR", folder.toString());
    builder.environment().merge("PATH", "/usr/sbin:/sbin", (path, more) -> path + ":" + more);
    return builder;
  }

  private void await(String file) throws InterruptedException {
    long endNs = System.nanoTime() + 60_000_000_000L;
    while (!Files.exists(folder.resolve(file))) {
      assertThat(System.nanoTime()).as(file).isLessThan(endNs);
      Thread.sleep(20);
    }
  }

  private String run(String... command) throws Exception {
    Process process = builder(List.of(command)).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as("%s: %s", String.join(" ", command), output).isZero();
    return output;
  }

  private String ofctl(String subcommand, String bridge, String... more) throws Exception {
    List<String> command = new ArrayList<>(List.of("ovs-ofctl", "-O", "OpenFlow14"));
    command.addAll(List.of("--bundle", subcommand, "unix:" + folder.resolve(bridge + ".mgmt")));
    command.addAll(List.of(more));
    return run(command.toArray(String[]::new));
  }

  private static EdgeSwitch edge(String id, String... hosts) {
    return new EdgeSwitch(id, Stream.of(hosts).map(IpPrefix::of).toList());
  }

  /** Returns a query that each switch mirrors to one of its hosts' monitors. */
  private static MirrorPlanner.Query query(String id, Random random) {
    Match match = match(random);
    Map<String, String> monitors =
        Map.of("leaf1", "monitor-" + random.nextInt(3), "leaf2", "monitor-3");
    return new MirrorPlanner.Query(id, match, MirrorPlanner.side(match), monitors, 0);
  }

  private static MirrorState state(List<MirrorPlanner.Query> running) {
    Map<String, RuleTable> tables = new HashMap<>();
    MirrorPlanner.wanted(running, SWITCHES)
        .forEach((id, wanted) -> tables.put(id, RuleTable.of(wanted, RuleTable.MAX_RULES)));
    return new MirrorState(tables, HOST_OF_MONITOR);
  }

  private static Match match(Random random) {
    List<String> prefixes =
        List.of(
            "10.0.0.1/32",
            "10.0.0.2/32",
            "10.0.0.0/24",
            "10.0.1.1/32",
            "10.0.0.0/16",
            "2001:db8::5/128");
    Match.Builder match =
        Match.newBuilder().addTo(address(prefixes.get(random.nextInt(6)), random));
    if (random.nextBoolean()) {
      match.addFrom(address(List.of("10.0.1.0/24", "192.0.2.0/28").get(random.nextInt(2)), random));
    }
    return match.build();
  }

  private static Address address(String prefix, Random random) {
    int port = List.of(0, 80, 1024).get(random.nextInt(3));
    return Address.newBuilder()
        .setPrefix(prefix)
        .setPort(port)
        .setLastPort(port == 1024 ? 1900 : 0)
        .build();
  }

  private static boolean isChange(Path file) {
    return file.getFileName().toString().matches("leaf1\\.\\d+\\.change");
  }

  /** Applies the changes of leaf1 to the switch in order; returns their number. */
  private int apply() throws Exception {
    List<Path> changes;
    try (Stream<Path> files = Files.list(folder)) {
      changes = files.filter(FlowFilesTest::isChange).sorted().toList();
    }
    for (Path change : changes) {
      ofctl("add-flows", "br0", change.toString());
      Files.delete(change);
    }
    return changes.size();
  }

  @Test
  void changesProduceExactlyTheWholeTable() throws Exception {
    Map<String, MirrorPort> ports =
        Map.of("a", MirrorPort.direct(1), "b", MirrorPort.direct(2), "e", new MirrorPort(9, 5001));
    FlowFiles files = new FlowFiles(folder, Map.of("leaf1", ports), 77);
    Random random = new Random(3);
    List<MirrorPlanner.Query> running = new ArrayList<>();
    for (int step = 0; step < 40; step++) {
      boolean ends = step >= 30 || running.size() > 4 && random.nextBoolean();
      if (ends && !running.isEmpty()) {
        running.remove(random.nextInt(running.size()));
      } else {
        running.add(query("q" + step, random));
      }
      files.mirror(state(running));
      if (step % 3 == 1) {
        continue; // Simulates a reader that is sometimes absent.
      }
      if (Files.exists(folder.resolve("leaf1.flows"))) {
        apply();
        files.mirror(state(running));
        assertThat(apply()).as("changes without a difference").isZero();
        List<String> whole = new ArrayList<>(Files.readAllLines(folder.resolve("leaf1.flows")));
        whole.add(FOREIGN);
        Files.write(folder.resolve("all"), whole);
        assertThat(ofctl("diff-flows", "br0", "all")).as("step %d", step).isEmpty();
      }
    }
    running.add(query("last", random));
    files.mirror(new MirrorState(state(running).tables(), Map.of()));
    FlowFiles next = new FlowFiles(folder, Map.of("leaf1", ports), 78);
    next.mirror(new MirrorState(Map.of(), Map.of()));
    apply();
    assertThat(ofctl("dump-flows", "br0", "--no-stats").lines().filter(l -> l.contains("actions")))
        .singleElement()
        .asString()
        .contains("cookie=0x1234");
  }
}
