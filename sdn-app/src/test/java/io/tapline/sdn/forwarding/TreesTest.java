package io.tapline.sdn.forwarding;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.sdn.FatTreeCables;
import io.tapline.sdn.topology.Host;
import io.tapline.sdn.topology.Link;
import io.tapline.sdn.topology.SwitchPort;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TreesTest {
  private final FatTreeCables tree = new FatTreeCables(4);

  @ParameterizedTest
  @ValueSource(ints = {2, 4, 6})
  void everySwitchReachesEveryHostByAShortestPath(int k) {
    FatTreeCables cables = new FatTreeCables(k);
    Trees trees = Trees.of(cables.links, cables.hosts);
    for (Host host : cables.hosts) {
      for (long source : cables.switches) {
        List<SwitchPort> route = trees.route(source, host.mac());
        assertThat(route).last().isEqualTo(host.at());
        assertThat(route).hasSize(trees.hops(source).get(host.mac()).distance() + 1);
        assertThat(route.size()).isLessThanOrEqualTo(5);
      }
    }
  }

  @Test
  void aRouteDependsOnTheDestinationAlone() {
    Trees trees = Trees.of(tree.links, tree.hosts);
    for (Host host : tree.hosts) {
      for (long source : tree.switches) {
        List<SwitchPort> route = trees.route(source, host.mac());
        for (int i = 1; i < route.size(); i++) {
          assertThat(trees.route(route.get(i).datapath(), host.mac()))
              .isEqualTo(route.subList(i, route.size()));
        }
      }
    }
  }

  @Test
  void theTreesTogetherUseEveryCoreSwitch() {
    FatTreeCables large = new FatTreeCables(8);
    Trees trees = Trees.of(large.links, large.hosts);
    Map<Long, Integer> routesOverCore = new HashMap<>();
    for (Host destination : large.hosts) {
      for (Host source : large.hosts) {
        trees.route(source.at().datapath(), destination.mac()).stream()
            .filter(port -> port.datapath() >= 300)
            .forEach(port -> routesOverCore.merge(port.datapath(), 1, Integer::sum));
      }
    }
    assertThat(routesOverCore).hasSize(16);
    int mean = routesOverCore.values().stream().mapToInt(Integer::intValue).sum() / 16;
    assertThat(routesOverCore.values())
        .allSatisfy(n -> assertThat(n).isBetween(mean / 2, mean * 2));
  }

  @Test
  void aFailedLinkOnlyMovesRoutesThatUsedIt() {
    Trees previousTrees = Trees.of(tree.links, tree.hosts);
    Link failed = tree.links.get(4);
    List<Link> left = new ArrayList<>(tree.links);
    left.removeAll(List.of(failed, failed.reversed()));
    Trees newTrees = Trees.of(left, tree.hosts);
    int moved = 0;
    for (Host host : tree.hosts) {
      boolean used =
          tree.switches.stream()
              .flatMap(source -> previousTrees.route(source, host.mac()).stream())
              .anyMatch(port -> port.equals(failed.from()) || port.equals(failed.to()));
      for (long source : tree.switches) {
        boolean isSame =
            previousTrees.route(source, host.mac()).equals(newTrees.route(source, host.mac()));
        moved += isSame ? 0 : 1;
        assertThat(isSame || used).isTrue();
        assertThat(newTrees.route(source, host.mac())).isNotEmpty();
      }
    }
    assertThat(moved).isPositive();
  }

  @Test
  void hostsBehindAGapAreNotReached() {
    Trees trees = Trees.of(List.of(), tree.hosts);
    Host host = tree.hosts.get(0);
    assertThat(trees.route(host.at().datapath(), host.mac())).containsExactly(host.at());
    assertThat(trees.route(300, host.mac())).isEmpty();
    assertThat(trees.route(100, 42)).isEmpty();
  }
}
