package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A fat tree of Open vSwitch on this host. Skipped, with the reason, where there can be none. */
class TestbedTest {
  private static final String PING_ALL =
      "for p in 0 1 2 3; do for e in 0 1; do for h in 2 3; do"
          + " ping -q -c 1 -W 20 10.$p.$e.$h >/dev/null || echo 10.$p.$e.$h; done; done; done";

  private final String name = "t" + Integer.toString(ThreadLocalRandom.current().nextInt(9999), 36);
  private final String port = Integer.toString(ThreadLocalRandom.current().nextInt(20_000, 30_000));
  private TreeSet<String> before;

  @BeforeEach
  void requireTestbed() throws IOException {
    assumeTrue("root".equals(System.getProperty("user.name")), "a testbed needs root");
    assumeTrue(Files.exists(Path.of("/usr/sbin/ovs-vswitchd")), "no openvswitch-switch");
    assumeTrue(
        command("unshare", "--net", "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
                .exitCode()
            == 0,
        "no network namespaces or veth devices here");
    before = ours();
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    if (before != null) {
      Cli.run("testbed", "down", "--name", name);
      assertThat(ours()).isEqualTo(before);
    }
  }

  /** Devices, namespaces, processes and files with the testbed's name. */
  private TreeSet<String> ours() throws IOException {
    TreeSet<String> all = new TreeSet<>();
    for (String folder : List.of("/sys/class/net", "/run/netns", "/run/tapline-testbed")) {
      if (Files.isDirectory(Path.of(folder))) {
        try (Stream<Path> files = Files.list(Path.of(folder))) {
          files.map(Path::toString).filter(file -> file.contains(name)).forEach(all::add);
        }
      }
    }
    ProcessHandle.allProcesses()
        .map(process -> process.info().commandLine().orElse(""))
        .filter(line -> line.contains("/run/tapline-testbed/" + name + "/"))
        .forEach(all::add);
    return all;
  }

  private static Cli.Result command(String... words) {
    try (Cli.Running running = Cli.startCommand(Map.of(), List.of(words))) {
      return running.await(120);
    }
  }

  private Cli.Result up() {
    return Cli.run("testbed", "up", "--name", name, "--openflow-port", port);
  }

  /** Which pairs do not reach each other. */
  private String unreachable() throws IOException {
    List<Cli.Running> pings = new ArrayList<>();
    try (Stream<Path> namespaces = Files.list(Path.of("/run/netns"))) {
      for (Path each : namespaces.filter(path -> path.toString().contains(name + "-h")).toList()) {
        List<String> words =
            List.of("ip", "netns", "exec", each.getFileName().toString(), "sh", "-c", PING_ALL);
        pings.add(Cli.startCommand(Map.of(), words));
      }
    }
    assertThat(pings).hasSize(16);
    String lost =
        pings.stream().map(ping -> ping.await(400).stdout()).collect(Collectors.joining());
    pings.forEach(Cli.Running::close);
    return lost;
  }

  @Test
  void allHostsReachEachOtherAlsoWithoutTheControllerAndNothingIsLeftBehind() throws IOException {
    assertThat(up().expectSuccess().stdout()).startsWith("up: fat tree, k=4, 20 switches");
    assertThat(unreachable()).isEmpty();
    assertThat(up().expectSuccess().stdout()).startsWith("already up");

    JsonNode status =
        Cli.run("testbed", "status", "--name", name, "--json").expectSuccess().json().get(0);
    JsonNode controller = status.path("controller");
    assertThat(controller.path("links").asInt()).isEqualTo(32);
    assertThat(controller.path("switches")).hasSize(20);
    assertThat(controller.path("switches"))
        .allSatisfy(each -> assertThat(each.path("forwardingFlows").asInt()).isEqualTo(16));
    assertThat(controller.path("switches").get(0).path("version").asText()).isEqualTo("1.4");
    assertThat(controller.path("counters").path("malformed_messages").asInt()).isZero();

    Path pid = Path.of("/run/tapline-testbed", name, "controller.pid");
    ProcessHandle.of(Long.parseLong(Files.readString(pid).strip()))
        .ifPresent(ProcessHandle::destroyForcibly);
    assertThat(unreachable()).isEmpty();
    assertThat(up().exitCode()).isEqualTo(1);

    assertThat(Cli.run("testbed", "down", "--name", name).expectSuccess().stdout())
        .startsWith("down");
    assertThat(ours()).isEqualTo(before);
    assertThat(Cli.run("testbed", "down", "--name", name).expectSuccess().stdout())
        .startsWith("there is none");
    assertThat(Cli.run("testbed", "status", "--name", name).exitCode()).isEqualTo(1);
  }

  @Test
  void whatItDidNotMakeIsInItsWayAndStays() {
    String device = name + "-c0";
    assertThat(command("ip", "link", "add", device, "type", "veth").exitCode()).isZero();
    try {
      Cli.Result refused = up();
      assertThat(refused.exitCode()).isEqualTo(1);
      assertThat(refused.stderr()).contains("not made by testbed " + name).contains(device);
      Cli.run("testbed", "down", "--name", name).expectSuccess();
      assertThat(Path.of("/sys/class/net", device)).exists();
    } finally {
      command("ip", "link", "del", device);
    }
  }
}
