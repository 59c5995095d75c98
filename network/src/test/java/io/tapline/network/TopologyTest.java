package io.tapline.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TopologyTest {
  private static final HostMaker HOSTS = HostMaker.uniform(12, 64);

  /** Returns the same topology as {@link FatTree}, built switch by switch. */
  private static Topology asGraph(int k) {
    Graph graph = new Graph();
    int half = k / 2;
    for (int core = 0; core < half * half; core++) {
      graph.addSwitch("core-" + core);
    }
    for (int pod = 0; pod < k; pod++) {
      for (int i = 0; i < half; i++) {
        graph.addSwitch("agg-%d-%d".formatted(pod, i));
        graph.addSwitch("edge-%d-%d".formatted(pod, i));
        for (int c = 0; c < half; c++) {
          graph.addLink(
              "agg-%d-%d".formatted(pod, i), "core-" + (i * half + c), HostMaker.TEN_GIGABIT, 0);
        }
      }
      for (int i = 0; i < half; i++) {
        for (int j = 0; j < half; j++) {
          graph.addLink(
              "edge-%d-%d".formatted(pod, i),
              "agg-%d-%d".formatted(pod, j),
              HostMaker.TEN_GIGABIT,
              0);
        }
        for (int h = 0; h < half; h++) {
          graph.addHost("h-%d-%d-%d".formatted(pod, i, h), "edge-%d-%d".formatted(pod, i), HOSTS);
        }
      }
    }
    return graph.build();
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 4, 6})
  void aFatTreeEqualsTheGraphOfItsSwitches(int k) {
    Topology tree = FatTree.of(k, HOSTS);
    Topology graph = asGraph(k);
    assertThat(tree.hostCount()).isEqualTo(k * k * k / 4).isEqualTo(graph.hostCount());
    for (int a = 0; a < tree.hostCount(); a++) {
      assertThat(tree.host(a).name()).isEqualTo(graph.host(a).name());
      for (int b = 0; b < tree.hostCount(); b++) {
        assertThat(tree.path(a, b)).isEqualTo(graph.path(a, b));
        assertThat(tree.weight(a, b)).isEqualTo(tree.path(a, b).weight());
      }
    }
    assertThat(graph.groupCount()).isEqualTo(tree.groupCount());
    for (int edge = 0; edge < tree.edgeCount(); edge++) {
      assertThat(graph.edgesOf(graph.groupsOf(edge)[0]))
          .containsExactly(tree.edgesOf(tree.groupsOf(edge)[0]));
    }
    for (LinkLevel level : LinkLevel.values()) {
      assertThat(graph.capacityBps(level)).isEqualTo(tree.capacityBps(level));
    }
  }

  @Test
  void pathsHaveThePapersWeights() {
    Topology tree = FatTree.of(16, HOSTS);
    assertThat(tree.hostCount()).isEqualTo(1024);
    assertThat(tree.edgeCount()).isEqualTo(128);
    assertThat(tree.path(0, 1)).isEqualTo(new Path(2, 0, 0, 2));
    assertThat(tree.path(0, 8)).isEqualTo(new Path(2, 2, 0, 6));
    assertThat(tree.path(0, 1000)).isEqualTo(new Path(2, 2, 2, 14));
    assertThat(tree.path(5, 5)).isEqualTo(Path.NONE);
  }

  @Test
  void invalidNetworksAreRejected() {
    assertThatThrownBy(() -> FatTree.of(5, HOSTS))
        .hasMessage("a fat tree needs an even k of at least 2, not 5");
    Graph parts = new Graph().addSwitch("s1").addSwitch("s2");
    parts.addHost("h1", "s1", HOSTS).addHost("h2", "s2", HOSTS);
    assertThatThrownBy(parts::build).hasMessage("there is no path between s1 and s2");
    assertThatThrownBy(() -> new Graph().addHost("h", "s9", HOSTS))
        .hasMessage("there is no switch s9");
    assertThatThrownBy(() -> new Graph().build()).hasMessage("the network has no hosts");
  }
}
