package io.tapline.sdn.mirror;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.network.IpPrefix;
import io.tapline.network.rules.PortMask;
import io.tapline.network.rules.RuleMatch;
import io.tapline.network.rules.RuleTable;
import io.tapline.network.rules.Wanted;
import io.tapline.sdn.FakeSwitch;
import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowAction;
import io.tapline.sdn.flow.FlowDifference;
import io.tapline.sdn.flow.FlowMatch;
import io.tapline.sdn.flow.SwitchMessage;
import io.tapline.sdn.forwarding.BaseFlows;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MirrorFlowsTest {
  private static final long HOST = 0x02_0000_0001L;
  private static final int HOST_PORT = 9;
  private static final Map<String, MirrorPort> PORTS =
      Map.of("m0", MirrorPort.direct(20), "m1", MirrorPort.direct(21));

  private static Wanted random(Random random, int owner) {
    String[] prefixes = {"", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3", "10.2.0.0/15"};
    PortMask port =
        random.nextBoolean()
            ? PortMask.ANY
            : new PortMask(80, random.nextBoolean() ? 0xffff : 0xfff0);
    int protocol = port.mask() == 0 ? 0 : random.nextBoolean() ? 6 : 17;
    RuleMatch match =
        new RuleMatch(
            IpPrefix.of(prefixes[random.nextInt(prefixes.length)]),
            IpPrefix.of(prefixes[random.nextInt(prefixes.length)]),
            protocol,
            PortMask.ANY,
            port,
            0,
            0);
    return new Wanted("q" + owner, "m" + random.nextInt(2), match, false);
  }

  /** Two monitors on one host are one process, which must not see a packet twice. */
  @Test
  void onePortGetsOneCopy() {
    RuleMatch match =
        new RuleMatch(IpPrefix.of("10.0.0.1"), IpPrefix.ANY, 6, PortMask.ANY, PortMask.ANY, 0, 0);
    List<Wanted> both =
        List.of(new Wanted("q", "m0", match, false), new Wanted("p", "m1", match, false));
    Map<String, MirrorPort> same = Map.of("m0", MirrorPort.direct(20), "m1", MirrorPort.direct(20));
    List<Flow> flows = MirrorFlows.of(RuleTable.of(both, 100), same, 1).flows();
    assertThat(flows).hasSize(1);
    assertThat(flows.get(0).actions()).containsExactly(new FlowAction.Output(20));
  }

  private static List<FakeSwitch.Packet> packets(Random random) {
    String[] addresses = {"10.1.2.3", "10.1.2.4", "10.2.0.1", "10.9.9.9", "11.0.0.1"};
    List<FakeSwitch.Packet> packets = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      RuleMatch.Header header =
          new RuleMatch.Header(
              IpPrefix.of(addresses[random.nextInt(addresses.length)]),
              IpPrefix.of(addresses[random.nextInt(addresses.length)]),
              random.nextBoolean() ? 6 : 17,
              1000,
              random.nextBoolean() ? 80 : 85,
              0,
              0);
      packets.add(new FakeSwitch.Packet(HOST, FlowMatch.IPV4, header));
    }
    return packets;
  }

  private static RuleTable table(Random random) {
    List<Wanted> wanted = new ArrayList<>();
    for (int i = random.nextInt(5); i >= 0; i--) {
      wanted.add(random(random, i));
    }
    return RuleTable.of(wanted, 2000);
  }

  private static Set<Integer> expected(RuleTable table, FakeSwitch.Packet packet) {
    Set<Integer> ports = new TreeSet<>(Set.of(HOST_PORT));
    table.monitors(packet.ip()).forEach(monitor -> ports.add(PORTS.get(monitor).port()));
    return ports;
  }

  private static FakeSwitch forwarding() {
    FakeSwitch fake = new FakeSwitch();
    BaseFlows.of(1).forEach(flow -> fake.flows.put(flow.key(), flow));
    Flow host =
        new Flow(
            1,
            1000,
            FlowMatch.to(HOST),
            List.of(new FlowAction.Output(HOST_PORT)),
            Flow.NO_TABLE,
            Cookie.of(Cookie.Kind.FORWARD, 1));
    fake.flows.put(host.key(), host);
    return fake;
  }

  private static List<SwitchMessage> change(FakeSwitch fake, RuleTable newTable) {
    List<Flow> mirrored =
        fake.all().stream().filter(f -> Cookie.is(Cookie.Kind.MIRROR, f.cookie())).toList();
    return FlowDifference.between(mirrored, MirrorFlows.of(newTable, PORTS, 1).flows()).messages();
  }

  /**
   * After each message, every packet still reaches its host, and is copied exactly as before or as
   * after the change.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void eachStepOfAChangeIsCompleteOrHarmless(long seed) {
    Random random = new Random(seed);
    FakeSwitch fake = forwarding();
    List<FakeSwitch.Packet> packets = packets(random);
    RuleTable before = RuleTable.empty();
    for (int i = 0; i < 12; i++) {
      RuleTable after = i == 11 ? RuleTable.empty() : table(random);
      for (SwitchMessage message : change(fake, after)) {
        fake.take(message);
        for (FakeSwitch.Packet packet : packets) {
          assertThat(fake.outputs(packet)).isIn(expected(before, packet), expected(after, packet));
        }
      }
      for (FakeSwitch.Packet packet : packets) {
        assertThat(fake.outputs(packet)).isEqualTo(expected(after, packet));
      }
      assertThat(change(fake, after)).isEmpty();
      before = after;
    }
    assertThat(fake.flows).hasSize(4);
  }

  @Test
  void missingMirrorPortsAreReportedAndForwardingContinues() {
    RuleTable table = RuleTable.of(List.of(new Wanted("q", "m9", RuleMatch.ANY, false)), 10);
    MirrorFlows.Result result = MirrorFlows.of(table, PORTS, 1);
    assertThat(result.unresolved()).containsExactly("m9");
    assertThat(result.flows()).hasSize(2).allMatch(flow -> flow.actions().isEmpty());
    assertThat(result.flows()).allMatch(flow -> flow.next() == MirrorFlows.FORWARDING_TABLE);
  }

  @Test
  void aCopyForADistantMonitorEntersItsTunnel() {
    RuleMatch match =
        new RuleMatch(
            IpPrefix.of("10.1.2.3"), IpPrefix.ANY, 6, PortMask.ANY, PortMask.of(80), 0, 0);
    RuleTable table = RuleTable.of(List.of(new Wanted("q", "far", match, false)), 10);
    MirrorFlows.Result result = MirrorFlows.of(table, Map.of("far", new MirrorPort(7, 5001)), 0);
    assertThat(result.flows().get(0))
        .hasToString(
            "table=0,priority=1174,cookie=0x7a91020000000000,tcp,nw_src=10.1.2.3/32,tp_dst=80,"
                + "actions=set_field:5001->tun_id,output:7,goto_table:1");
  }

  @Test
  void foreignFlowsStayAndBlockedRulesAreReported() {
    RuleTable table = RuleTable.of(List.of(new Wanted("q", "m0", RuleMatch.ANY, false)), 10);
    List<Flow> wantedFlows = MirrorFlows.of(table, PORTS, 1).flows();
    Flow ownFlow = wantedFlows.get(0);
    Flow otherFlow =
        new Flow(0, ownFlow.priority(), ownFlow.match(), List.of(), Flow.NO_TABLE, 0x1234);
    Flow another = new Flow(0, 5, FlowMatch.ALL, List.of(), Flow.NO_TABLE, 0);
    FlowDifference difference = FlowDifference.between(List.of(otherFlow, another), wantedFlows);
    assertThat(difference.blocked()).containsExactly(ownFlow);
    assertThat(difference.messages())
        .containsExactly(new SwitchMessage.FlowMod(SwitchMessage.Kind.ADD, wantedFlows.get(1)));
    assertThat(FlowDifference.between(List.of(otherFlow, another), List.of()).messages()).isEmpty();
  }

  @Test
  void filesContainTheTableAndItsChanges(@TempDir Path folder) throws IOException {
    RuleMatch match =
        new RuleMatch(
            IpPrefix.of("10.0.0.0/8"),
            IpPrefix.ANY,
            17,
            PortMask.ANY,
            new PortMask(80, 0xfff0),
            0,
            0);
    RuleTable table = RuleTable.of(List.of(new Wanted("q", "m", match, false)), 10);
    try (FlowFiles files =
        new FlowFiles(folder, Map.of("s1", Map.of("h1", MirrorPort.direct(3))), 0)) {
      files.mirror(new MirrorState(Map.of("s1", table), Map.of("m", "h1")));
      String flow =
          "table=0,priority=1090,cookie=0x7a91020000000000,udp,nw_src=10.0.0.0/8,tp_dst=0x50/0xfff0,"
              + "actions=output:3,goto_table:1";
      assertThat(folder.resolve("s1.flows")).hasContent(flow);
      assertThat(folder.resolve("s1.000001.change"))
          .hasContent("delete table=0,cookie=0x7a91020000000000/0xffffff0000000000\nadd " + flow);
      assertThat(files.report().complete()).isTrue();
      assertThat(files.report().rules()).containsEntry("s1", 1);
      files.mirror(MirrorState.NOTHING);
      assertThat(folder.resolve("s1.flows")).isEmptyFile();
      assertThat(Files.readString(folder.resolve("s1.000002.change")))
          .isEqualTo(
              "delete_strict table=0,priority=1090,"
                  + "cookie=0x7a91020000000000/0xffffff0000000000,udp,nw_src=10.0.0.0/8,tp_dst=0x50/0xfff0\n");
    }
  }
}
