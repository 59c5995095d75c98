package io.tapline.sdn.forwarding;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.sdn.FakeSwitch;
import io.tapline.sdn.FatTreeCables;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.SwitchMessage.FlowMod;
import io.tapline.sdn.mirror.MirrorFlows;
import io.tapline.sdn.topology.Host;
import io.tapline.sdn.topology.Link;
import io.tapline.sdn.topology.SwitchPort;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests a network of fake switches while links fail and hosts move. */
class RolloutTest {
  private final FatTreeCables tree = new FatTreeCables(4);
  private final Map<Long, FakeSwitch> switches = new HashMap<>();
  private final Map<SwitchPort, SwitchPort> cables = new HashMap<>();

  RolloutTest() {
    tree.switches.forEach(datapath -> switches.put(datapath, new FakeSwitch()));
    switches.values().forEach(table -> BaseFlows.of(1).forEach(f -> table.flows.put(f.key(), f)));
    tree.links.forEach(link -> cables.put(link.from(), link.to()));
  }

  private List<Map<Long, List<FlowMod>>> rounds(List<Link> links, List<Host> hosts) {
    Map<Long, List<Flow>> actual = new HashMap<>();
    switches.forEach(
        (datapath, table) ->
            actual.put(
                datapath,
                table.all().stream()
                    .filter(flow -> flow.table() == MirrorFlows.FORWARDING_TABLE)
                    .toList()));
    return Rollout.rounds(actual, Trees.of(links, hosts), 1);
  }

  /**
   * Returns the last port through which a packet leaves a switch on its way to a host. Fails if the
   * packet loops.
   */
  private SwitchPort end(long source, long mac) {
    Set<Long> seen = new HashSet<>();
    long datapath = source;
    while (seen.add(datapath)) {
      Set<Integer> out = switches.get(datapath).outputs(new FakeSwitch.Packet(mac, 0x0800, null));
      if (out.isEmpty()) {
        return null;
      }
      assertThat(out).hasSize(1);
      SwitchPort leaves = new SwitchPort(datapath, out.iterator().next());
      if (!cables.containsKey(leaves)) {
        return leaves;
      }
      datapath = cables.get(leaves).datapath();
    }
    throw new AssertionError("packets to %x loop at datapath %d".formatted(mac, datapath));
  }

  /**
   * Applies the rounds one after another, each round's messages in random order, and checks after
   * every message.
   */
  private void roll(List<Map<Long, List<FlowMod>>> rounds, Random random, Runnable check) {
    for (Map<Long, List<FlowMod>> round : rounds) {
      List<Map.Entry<Long, FlowMod>> mods = new ArrayList<>();
      round.forEach((datapath, table) -> table.forEach(mod -> mods.add(Map.entry(datapath, mod))));
      Collections.shuffle(mods, random);
      for (Map.Entry<Long, FlowMod> mod : mods) {
        switches.get(mod.getKey()).take(mod.getValue());
        check.run();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void noLoopAndNoLossWhileLinksComeAndGo(long seed) {
    Random random = new Random(seed);
    List<Link> links = tree.links;
    roll(rounds(links, tree.hosts), random, () -> {});
    for (int change = 0; change < 3; change++) {
      Set<Link> down = new HashSet<>();
      for (int i = 0; i < 3; i++) {
        Link link = tree.links.get(random.nextInt(tree.links.size()));
        down.add(link);
        down.add(link.reversed());
      }
      List<Link> up = tree.links.stream().filter(link -> !down.contains(link)).toList();
      List<Host> sample = List.of(tree.hosts.get(random.nextInt(16)), tree.hosts.get(3));
      // Links that are reported as down still carry packets here: a packet on its way must never
      // turn back.
      roll(
          rounds(up, tree.hosts),
          random,
          () -> {
            for (Host host : sample) {
              for (long source : List.of(100L, 103L, 107L, 300L)) {
                assertThat(end(source, host.mac())).isEqualTo(host.at());
              }
            }
          });
      assertThat(rounds(up, tree.hosts)).isEmpty();
      Trees trees = Trees.of(up, tree.hosts);
      for (Host host : tree.hosts) {
        for (long source : tree.switches) {
          assertThat(trees.route(source, host.mac())).last().isEqualTo(end(source, host.mac()));
        }
      }
    }
  }

  @Test
  void aMovingHostIsReachableAtOneOfItsPorts() {
    roll(rounds(tree.links, tree.hosts), new Random(1), () -> {});
    Host oldHost = tree.hosts.get(0);
    SwitchPort place = new SwitchPort(107, 2);
    List<Host> movedHosts = new ArrayList<>(tree.hosts);
    movedHosts.set(0, new Host(oldHost.mac(), place, oldHost.ips(), 1));
    roll(
        rounds(tree.links, movedHosts),
        new Random(1),
        () -> assertThat(end(103, oldHost.mac())).isIn(oldHost.at(), place));
    tree.switches.forEach(source -> assertThat(end(source, oldHost.mac())).isEqualTo(place));
  }

  @Test
  void flowsOfRemovedHostsAreDeletedLast() {
    roll(rounds(tree.links, tree.hosts), new Random(1), () -> {});
    List<Map<Long, List<FlowMod>>> rounds = rounds(tree.links, tree.hosts.subList(1, 16));
    assertThat(rounds).hasSize(1);
    roll(rounds, new Random(1), () -> {});
    assertThat(end(300, tree.hosts.get(0).mac())).isNull();
    assertThat(end(300, tree.hosts.get(1).mac())).isEqualTo(tree.hosts.get(1).at());
  }
}
