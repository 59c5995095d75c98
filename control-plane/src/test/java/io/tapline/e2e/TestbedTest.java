package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testbed.FatTreePlan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Tests a fat tree of Open vSwitch bridges on this host. Skipped, with the reason, on hosts that
 * can't run a testbed.
 */
@MakesNetworkDevices
class TestbedTest {
  private static final String PING_ALL =
      "for p in 0 1 2 3; do for e in 0 1; do for h in 2 3; do"
          + " ping -q -c 1 -W 20 10.$p.$e.$h >/dev/null || echo 10.$p.$e.$h; done; done; done";

  private static final int LINK_MBIT = 30;

  /** Accepts a connection, and prints its mean rate in Mb/s from the first byte to the last. */
  private static final String RECEIVE =
      """
      import socket, time
      taken, _ = socket.create_server(("10.0.0.2", 5001)).accept()
      total, began = 0, None
      while data := taken.recv(65536):
          began = began or time.monotonic()
          total += len(data)
      print(total * 8 / 1e6 / (time.monotonic() - began))
      """;

  private static final String SEND =
      """
      import socket, time
      for attempt in range(600):
          try:
              connection = socket.create_connection(("10.0.0.2", 5001), 60)
              break
          except ConnectionRefusedError:
              time.sleep(0.1)
      end = time.monotonic() + 3
      while time.monotonic() < end:
          connection.sendall(bytes(16384))
      """;

  private static final int DATAGRAMS = 1000;

  /** Sends raw frames, since IP packets are not sent before the address has been resolved. */
  private static final String SEND_DATAGRAMS =
      """
      import socket, time
      to = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
      to.bind(("eth0", 0))
      for i in range(%d):
          to.send(bytes.fromhex("020000010000020000000000" "0800") + bytes(50))
          time.sleep(0.0005)
      """
          .formatted(DATAGRAMS);

  private static final Pattern JOINED = Pattern.compile("e00m0\\)[^(]*state: +LIVE");
  private static final Pattern RECEIVED = Pattern.compile("\"packets(?:_received)?\":(\\d+)");

  private Fabric fabric;

  @BeforeEach
  void requireTestbed() throws IOException {
    fabric = Fabric.named();
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    if (fabric != null) {
      fabric.close();
    }
  }

  /** Returns the addresses that some host does not reach, one per line. */
  private String unreachable() throws IOException {
    List<Cli.Running> pings = new ArrayList<>();
    try (Stream<Path> namespaces = Files.list(Path.of("/run/netns"))) {
      for (Path folder :
          namespaces.filter(path -> path.toString().contains(fabric.name + "-h")).toList()) {
        List<String> words =
            List.of("ip", "netns", "exec", folder.getFileName().toString(), "sh", "-c", PING_ALL);
        pings.add(Cli.startCommand(Map.of(), words));
      }
    }
    assertThat(pings).hasSize(16);
    String lost =
        pings.stream().map(ping -> ping.await(400).stdout()).collect(Collectors.joining());
    pings.forEach(Cli.Running::close);
    return lost;
  }

  private double megabitsBetweenPods() {
    try (Cli.Running receiver = fabric.start("h-0-0-0", "python3", "-c", RECEIVE);
        Cli.Running sender = fabric.start("h-2-1-0", "python3", "-c", SEND)) {
      assertThat(sender.await(120).exitCode()).as(sender.stderr()).isZero();
      return Double.parseDouble(receiver.await(120).expectSuccess().stdout().strip());
    }
  }

  @Test
  void allHostsReachEachOtherAlsoWithoutTheControllerAndNothingIsLeftBehind() throws Exception {
    String[] limit = {"--link-mbit", Integer.toString(LINK_MBIT)};
    assertThat(fabric.testbed("up", limit).expectSuccess().stdout())
        .startsWith("up: fat tree, k=4, 20 switches");
    assertThat(unreachable()).isEmpty();
    assertThat(fabric.testbed("up", limit).expectSuccess().stdout()).startsWith("already up");
    assertThat(megabitsBetweenPods()).isBetween(0.1, 1.2 * LINK_MBIT);

    JsonNode status = fabric.testbed("status", "--json").expectSuccess().json().get(0);
    JsonNode controller = status.path("controller");
    assertThat(controller.path("links").asInt()).isEqualTo(32);
    assertThat(controller.path("switches")).hasSize(20);
    assertThat(controller.path("switches"))
        .allSatisfy(
            switchJson -> assertThat(switchJson.path("forwardingFlows").asInt()).isEqualTo(16));
    assertThat(controller.path("switches").get(0).path("version").asText()).isEqualTo("1.4");
    assertThat(controller.path("counters").path("malformed_messages").asInt()).isZero();

    fabric.killAndAwaitAnother("controller");
    assertThat(unreachable()).isEmpty();
    assertThat(fabric.testbed("up").exitCode()).as("other settings").isEqualTo(1);

    assertThat(fabric.testbed("down").expectSuccess().stdout()).startsWith("down");
    assertThat(fabric.ours()).isEmpty();
    assertThat(fabric.testbed("down").expectSuccess().stdout()).startsWith("no testbed");
    assertThat(fabric.testbed("status").exitCode()).isEqualTo(1);
  }

  @Test
  void killedAgentsAndNodesAreRestartedAndEndWithTheTestbed() throws Exception {
    FatTreePlan plan = new FatTreePlan(fabric.name, 2, 0);
    String registry = plan.controlAddress() + ":" + Server.freePort();
    String[] options = {"--k", "2", "--agents", "--control-plane", registry};
    fabric.testbed("up", options).expectSuccess();
    String port = Integer.toString(fabric.openFlowPort);
    try (Server server =
        Server.start(
            "--agents",
            registry,
            "--clear",
            "agents,kafka",
            "--openflow-port",
            port,
            "--inventory",
            fabric.inventory())) {
      Set<String> all = Set.of("agent h-0-0-0", "agent h-1-0-0", "node h-0-0-0", "node h-1-0-0");
      Fabric.await("agents and nodes are up", () -> up(server).keySet().equals(all));
      Map<String, String> previousState = up(server);
      fabric.killAndAwaitAnother("agent-h-0-0-0");
      fabric.killAndAwaitAnother("node-h-1-0-0");
      Fabric.await(
          "they are up again",
          () ->
              up(server).keySet().equals(all)
                  && !up(server).get("agent h-0-0-0").equals(previousState.get("agent h-0-0-0")));
      assertThat(up(server)).containsEntry("agent h-1-0-0", previousState.get("agent h-1-0-0"));
      assertThat(fabric.process("node-h-0-0-0").path("restarts").asInt()).isZero();
    }
    fabric.testbed("down").expectSuccess();
    assertThat(fabric.ours()).isEmpty();
  }

  /**
   * Returns the agents that have a lease, with the time of its start, and the nodes that answer.
   */
  private static Map<String, String> up(Server server) throws Exception {
    JsonNode hosts = Cli.parse(server.get("/api/v1/nodes").body());
    Map<String, String> all = new TreeMap<>();
    for (String kind : List.of("agent", "node")) {
      for (JsonNode node : hosts.path(kind + "s")) {
        if (node.path("state").asText().equals("up")) {
          all.put(kind + " " + node.path(kind).asText(), node.path("since_ns").asText());
        }
      }
    }
    return all;
  }

  /** Tests two monitors that read the switch's copies from shared memory, one after the other. */
  @Test
  void copiesArriveThroughSharedMemory() throws Exception {
    assumeTrue(
        Files.exists(Path.of("/usr/lib/openvswitch-switch-dpdk")),
        "SKIPPED: openvswitch-switch-dpdk is missing");
    fabric.testbed("up", "--k", "2", "--no-controller", "--mirror-port", "memif").expectSuccess();
    fabric.openFlow("add-flow", "e00", "in_port=1,actions=output:3");
    for (int monitor = 0; monitor < 2; monitor++) {
      assertThat(mirroredByMemif()).isEqualTo(DATAGRAMS);
    }
    fabric.testbed("down").expectSuccess();
    assertThat(fabric.ours()).isEmpty();
  }

  /**
   * Starts a monitor, sends datagrams from its host, and returns the number of copies that it
   * received.
   */
  private long mirroredByMemif() throws Exception {
    String socket = fabric.folder().resolve("mirror-h-0-0-0.sock").toString();
    try (Cli.Running monitor =
        fabric.start(
            "h-0-0-0",
            Cli.root().resolve("build/bin/tapline-monitor").toString(),
            "--vdev=net_memif0,role=client,id=0,socket-abstract=no,socket=" + socket,
            "--parser=tcp_pkt_size",
            "--output=null",
            "--hugepages=never",
            "--memory-mib=64",
            "--status=json")) {
      Fabric.await("it is ready", () -> monitor.stderr().contains("\"ready\""));
      Fabric.await("they are connected", () -> JOINED.matcher(fabric.ports("e00")).find());
      Fabric.run(fabric.in("h-0-0-0", "python3", "-c", SEND_DATAGRAMS)).expectSuccess();
      Fabric.await("all have arrived", () -> received(monitor) >= DATAGRAMS);
      monitor.process().destroy();
      monitor.await(60).expectSuccess();
      return received(monitor);
    }
  }

  private static long received(Cli.Running monitor) {
    Matcher count = RECEIVED.matcher(monitor.stderr());
    long last = 0;
    while (count.find()) {
      last = Long.parseLong(count.group(1));
    }
    return last;
  }

  @Test
  void foreignDevicesCauseAnErrorAndStay() {
    String device = fabric.name + "-c0";
    assertThat(Fabric.run(List.of("ip", "link", "add", device, "type", "veth")).exitCode())
        .isZero();
    try {
      Cli.Result refusedResult = fabric.testbed("up");
      assertThat(refusedResult.exitCode()).isEqualTo(1);
      assertThat(refusedResult.stderr())
          .contains("do not belong to testbed " + fabric.name)
          .contains(device);
      fabric.testbed("down").expectSuccess();
      assertThat(Path.of("/sys/class/net", device)).exists();
    } finally {
      Fabric.run(List.of("ip", "link", "del", device));
    }
  }
}
