package io.tapline.control.testbed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.network.NetworkSection;
import io.tapline.network.Network;
import io.tapline.network.SwitchPorts;
import io.tapline.sdn.controller.NetworkMap;
import io.tapline.sdn.mirror.CopyFormat;
import io.tapline.sdn.mirror.MirrorPort;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FatTreePlanTest {
  @ParameterizedTest
  @ValueSource(ints = {2, 4, 6, 8})
  void everyPortHasExactlyOneCableOrHost(int k) {
    FatTreePlan plan = new FatTreePlan("test99", k, 0);
    List<String> ports = new ArrayList<>();
    plan.switches().forEach(sw -> ports.addAll(sw.ports()));
    List<String> ends = new ArrayList<>();
    plan.hosts().forEach(host -> ends.addAll(List.of(host.switchPort(), host.mirrorPort())));
    plan.cables().forEach(cable -> ends.addAll(List.of(cable.a(), cable.b())));
    assertThat(plan.switches()).hasSize(5 * k * k / 4);
    assertThat(plan.hosts()).hasSize(k * k * k / 4);
    assertThat(ports).doesNotHaveDuplicates().containsExactlyInAnyOrderElementsOf(ends);
    assertThat(plan.hosts().stream().map(FatTreePlan.Node::controlAddress))
        .doesNotHaveDuplicates()
        .doesNotContain(plan.controlAddress());
    assertThat(plan.devices()).doesNotHaveDuplicates().allMatch(name -> name.length() <= 15);
  }

  @Test
  void theInventoryDescribesThePlan() {
    FatTreePlan plan = new FatTreePlan("tl", 4, 0);
    String yaml = plan.inventory();
    Network network = NetworkSection.fromYaml(yaml, Inventory.fromYaml(yaml)).orElseThrow();
    NetworkMap map = NetworkMap.of(network, yaml);
    assertThat(network.topology().hostCount()).isEqualTo(16);
    assertThat(map.datapaths()).hasSize(20).containsEntry("edge-3-1", 0x10301L);
    assertThat(map.switchOfAddress()).hasSize(16).containsEntry(0x0a030103, 0x10301L);
  }

  @Test
  void copiesGoToAPortThatNoTrafficOfTheirHostUses() {
    FatTreePlan plan = new FatTreePlan("tl", 4, 0);
    String yaml = plan.inventory();
    Network network = NetworkSection.fromYaml(yaml, Inventory.fromYaml(yaml)).orElseThrow();
    NetworkMap map = NetworkMap.of(network, yaml);
    assertThat(map.monitorPorts()).hasSize(8);
    assertThat(map.monitorPorts().get("edge-2-1"))
        .containsEntry("h-2-1-0", MirrorPort.direct(5))
        .containsEntry("h-2-1-1", MirrorPort.direct(6));
  }

  @Test
  void copiesAreMarkedUnlessTheInventoryDiffers() {
    String yaml = new FatTreePlan("tl", 4, 0).inventory();
    Network network = NetworkSection.fromYaml(yaml, Inventory.fromYaml(yaml)).orElseThrow();
    assertThat(NetworkMap.of(network, yaml).marksPorts()).isTrue();
    String unmarked = yaml.replace("  openflow:\n", "  openflow:\n    copies: unmarked\n");
    assertThat(NetworkMap.of(network, unmarked).marksPorts()).isFalse();
    assertThat(NetworkMap.of(network, yaml).copyFormat()).isEqualTo(new CopyFormat(true, Map.of()));
    assertThat(NetworkMap.of(network, yaml).linkMbit()).isZero();
    String limited = yaml + "    link_mbit: 50\n";
    assertThat(NetworkMap.of(network, limited).linkMbit()).isEqualTo(50);
    assertThatThrownBy(() -> NetworkMap.of(network, yaml + "    link_mbit: -1\n"))
        .hasMessage(
            "inventory, network: openflow.link_mbit must be from 0 to 1000000 Mb/s, not -1");
    String wrong = yaml.replace("  openflow:\n", "  openflow:\n    copies: plain\n");
    assertThatThrownBy(() -> NetworkMap.of(network, wrong))
        .hasMessage("inventory, network: openflow.copies must be marked or unmarked, not 'plain'");
  }

  @Test
  void sharedMemoryMirrorPortsAreNotDevices() {
    FatTreePlan plan = new FatTreePlan("tl", 4, 0, 0, true);
    FatTreePlan.Node host = plan.hosts().get(5);
    assertThat(plan.devices())
        .hasSize(new FatTreePlan("tl", 4, 0).devices().size() - 16)
        .doesNotContain(host.mirrorPort());
    assertThat(plan.ipCommands() + plan.hostCommands(host)).doesNotContain("mirror0");
    assertThat(plan.inventory()).isEqualTo(new FatTreePlan("tl", 4, 0).inventory());
    String socket = Bridges.mirrorSocket(Path.of("/x"), host).toString();
    assertThat(new Bridges(plan, Path.of("/x")).commands(6653))
        .filteredOn(word -> word.contains("socket=" + socket + "\""))
        .hasSize(1);
  }

  @Test
  void aCollectorHasATapForEachSwitch() {
    FatTreePlan plan = new FatTreePlan("tl", 4, 0).with(new Collector(100, 300));
    String yaml = plan.inventory();
    Inventory inventory = Inventory.fromYaml(yaml);
    NetworkMap map = NetworkMap.of(NetworkSection.fromYaml(yaml, inventory).orElseThrow(), yaml);
    for (FatTreePlan.Switch sw : plan.switches()) {
      int last = sw.ports().size();
      assertThat(sw.ports().get(last - 1)).isEqualTo(sw.collectorPort());
      assertThat(map.monitorPorts().get(sw.id()))
          .containsEntry(Collector.NAME, MirrorPort.direct(last).withQueue(1));
      // Copies identify ports by their numbers.
      assertThat(inventory.ports().of(sw.id())).hasSize(4).allMatch(SwitchPorts.Port::isNumbered);
    }
    assertThat(inventory.ports().find("edge-2-1", "1").orElseThrow().neighbour())
        .isEqualTo("h-2-1-0");
    assertThat(inventory.ports().find("core-3", "4").orElseThrow().neighbour())
        .isEqualTo("aggregation-3-1");
    assertThat(plan.devices()).doesNotHaveDuplicates().allMatch(name -> name.length() <= 15);
    assertThat(plan.namespaces()).hasSize(17).contains("tl-collector");
    assertThat(plan.ipCommands()).contains("link set tl-e21t txqueuelen 6\n");
    List<String> commands = new Bridges(plan, Path.of("/x")).commands(6653);
    assertThat(commands).filteredOn("qos=@mirror"::equals).hasSize(20);
    assertThat(commands)
        .contains("other-config:max-rate=100000000", "queues:0=@mirror0", "queues:1=@mirror1")
        .contains("other-config:min-rate=95000000", "other-config:min-rate=5000000");
    assertThat(new Bridges(plan, Path.of("/x")).queues().lines())
        .hasSize(40)
        .contains(
            "filter add dev tl-e21t parent 1: protocol all prio 1 u32 "
                + "match u16 0x027a 0xffff at -14 match u16 0x9300 0xff00 at -12 flowid 1:2");
    FatTreePlan fast = new FatTreePlan("tl", 4, 0).with(new Collector(0, 300));
    assertThat(fast.inventory()).doesNotContain("queue");
    assertThat(new Bridges(fast, Path.of("/x")).queues()).isEmpty();
    assertThat(commands).doesNotContain("qos=@rate");
  }

  /** Tests the queues of mirror ports, which hold the given µs of traffic, but at least 8 kB. */
  @Test
  void queuesOfMirrorPortsAreShort() {
    assertThat(new Collector(10, 300).queuePackets()).isEqualTo(6);
    assertThat(new Collector(1000, 300).queuePackets()).isEqualTo(25);
    assertThat(new Collector(10, 20_000).queuePackets()).isEqualTo(17);
    assertThatThrownBy(() -> new Collector(-1, 300)).hasMessageContaining("negative");
    assertThatThrownBy(() -> new Collector(1, 0)).hasMessageContaining("at least 1 us");
    assertThatThrownBy(() -> new FatTreePlan("tl", 8, 0).with(new Collector(0, 300)))
        .hasMessage(
            "a collector has at most 64 taps, and the fat tree has 80 switches: choose a smaller --k");
  }

  @Test
  void impossibleSettingsAreRejected() {
    assertThatThrownBy(() -> new FatTreePlan("tl", 5, 0)).hasMessageContaining("even number");
    assertThatThrownBy(() -> new FatTreePlan("tl", 4, 0, 300, false))
        .hasMessageContaining("--link-mbit");
    assertThatThrownBy(() -> new FatTreePlan("../x", 4, 0))
        .hasMessageContaining("is not a testbed name");
    assertThatThrownBy(() -> new FatTreePlan("toolong", 4, 0))
        .hasMessageContaining("is not a testbed name");
  }

  @Test
  void pollsThePortsOfSwitches() {
    FatTreePlan plan = new FatTreePlan("tl", 4, 100, 300, false).polling(List.of("edge-0-0"));
    List<String> words = new Bridges(plan, Path.of("/f")).commands(6653);
    assertThat(words)
        .filteredOn(word -> word.startsWith("options:dpdk-devargs"))
        .hasSize(6)
        .contains(
            "options:dpdk-devargs=\"net_af_packet_tl_e00u0,iface=tl-e00u0,framecnt=1024,qdisc_bypass=0\"");
    assertThat(words)
        .as("the link rate in IP bytes per second, and a burst of 300 packets of 1,500 bytes")
        .contains("other-config:cir=12384412", "other-config:cbs=450000");
    assertThat(words).filteredOn("qos=@policer"::equals).as("links to other switches").hasSize(2);
    assertThat(words).filteredOn("qos=@rate"::equals).hasSize(62);
    assertThat(new Bridges(plan, Path.of("/f")).queues())
        .contains("class add dev tl-e00u1 parent 1: classid 1:1 htb rate 100mbit")
        .contains("qdisc add dev tl-e00u1 parent 1:1 pfifo limit 1024\n")
        .doesNotContain("tl-e00h0");
    assertThat(plan.hasDpdk()).isTrue();
  }

  @Test
  void refusesToPollUnknownSwitchesAndTooManyPorts() {
    FatTreePlan plan = new FatTreePlan("tl", 4, 0);
    assertThatThrownBy(() -> plan.polling(List.of("edge-4-0")))
        .hasMessageStartingWith(
            "the tree has no switch 'edge-4-0' to poll: its switches are edge-0-0")
        .hasMessageContaining("core-3");
    List<String> edges = List.of("edge-0-0", "edge-0-1", "edge-1-0", "edge-1-1", "edge-2-0");
    assertThat(plan.polling(edges).polled()).hasSize(5);
    List<String> more =
        List.of("edge-0-0", "edge-0-1", "edge-1-0", "edge-1-1", "edge-2-0", "core-0");
    assertThatThrownBy(() -> plan.polling(more))
        .hasMessage(
            "these switches would have 34 DPDK ports, but the maximum is 32: poll fewer switches");
  }

  @Test
  void portsToTheCollectorAreNotPolled() {
    FatTreePlan plan =
        new FatTreePlan("tl", 4, 0).polling(List.of("edge-0-0")).with(new Collector(100, 300));
    List<String> words = new Bridges(plan, Path.of("/f")).commands(6653);
    assertThat(words).filteredOn("type=dpdk"::equals).hasSize(6);
    int port = words.lastIndexOf("tl-e00t");
    assertThat(words.subList(port, port + 2)).containsExactly("tl-e00t", "qos=@mirror");
    assertThat(new Bridges(plan, Path.of("/f")).queues().lines())
        .as("filters for the queues of each switch")
        .hasSize(40);
  }

  @Test
  void polledSwitchesWithSharedMemoryHaveFewerPolledPorts() {
    FatTreePlan tree = new FatTreePlan("tl", 4, 0, 0, true);
    List<String> edges = List.of("edge-0-0", "edge-0-1", "edge-1-0", "edge-1-1");
    FatTreePlan plan = tree.polling(edges);
    List<String> words = new Bridges(plan, Path.of("/f")).commands(6653);
    assertThat(words)
        .filteredOn("type=dpdk"::equals)
        .as("16 ports of memif, and 4 others of each of these switches")
        .hasSize(32);
    assertThatThrownBy(
            () -> tree.polling(List.of("core-0", "core-1", "core-2", "core-3", "edge-0-0")))
        .hasMessageContaining("36 DPDK ports");
  }

  @Test
  void theOrderOfPolledSwitchesDoesNotMatter() {
    FatTreePlan plan = new FatTreePlan("tl", 4, 0);
    assertThat(plan.polling(List.of("core-0", "edge-0-0", "core-0")))
        .isEqualTo(plan.polling(List.of("edge-0-0", "core-0")));
  }
}
