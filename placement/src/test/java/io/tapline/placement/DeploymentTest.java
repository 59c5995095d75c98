package io.tapline.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.network.FatTree;
import io.tapline.network.HostMaker;
import io.tapline.network.LeafSpine;
import io.tapline.network.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeploymentTest {
  private static void assertRight(Deployment deployment) {
    assertThat(Layouts.violations(deployment.problem(), deployment.layout())).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void everyStepLeavesAValidLayout(int seed) {
    Random random = new Random(seed);
    Topology topology = FatTree.of(6, HostMaker.uniform(24, 128));
    Deployment deployment = Deployment.empty(topology, Sizes.PAPER);
    List<String> queries = new ArrayList<>();
    List<Integer> closed = new ArrayList<>();
    for (int step = 0; step < 60; step++) {
      int action = random.nextInt(6);
      if (action < 3 || queries.isEmpty()) {
        Flows flows = Problems.flows(topology, 1 + random.nextInt(40), 3e7, random);
        deployment = deployment.add("q" + step, flows).after();
        queries.add("q" + step);
      } else if (action == 3) {
        deployment = deployment.remove(queries.remove(random.nextInt(queries.size()))).after();
      } else if (action == 4 && closed.size() < 4) {
        int host = random.nextInt(topology.hostCount());
        Deployment.Change change = deployment.close(host);
        deployment = change.after();
        closed.add(host);
        assertNothingRunsOn(deployment, host);
      } else if (!closed.isEmpty()) {
        deployment = deployment.reopen(closed.remove(0));
      }
      assertRight(deployment);
    }
    for (String query : queries) {
      deployment = deployment.remove(query).after();
    }
    assertThat(deployment.processes()).isZero();
  }

  private static void assertNothingRunsOn(Deployment deployment, int host) {
    Layout layout = deployment.layout();
    assertThat(layout.monitors()).noneMatch(process -> process.host() == host);
    assertThat(layout.aggregators()).noneMatch(process -> process.host() == host);
    assertThat(layout.processors()).noneMatch(process -> process.host() == host);
  }

  @Test
  void addingAQueryMovesNoOther() {
    Random random = new Random(1);
    Topology topology = FatTree.of(8, HostMaker.uniform(24, 128));
    Deployment deployment = Deployment.empty(topology, Sizes.PAPER);
    for (int q = 0; q < 100; q++) {
      Deployment.Change change = deployment.add("q" + q, Problems.flows(topology, 50, 1e6, random));
      assertThat(change.stopped()).isZero();
      assertThat(change.movedFlows()).isZero();
      assertThat(change.rewired()).isZero();
      deployment = change.after();
    }
    // All flows would fit into one monitor per rack.
    assertThat(deployment.layout().monitors()).hasSizeLessThanOrEqualTo(topology.edgeCount());
  }

  @Test
  void losingAHostMovesOnlyItsProcesses() {
    Random random = new Random(2);
    Topology topology = FatTree.of(8, HostMaker.uniform(24, 128));
    Deployment deployment =
        Deployment.empty(topology, Sizes.PAPER)
            .add("q1", Problems.flows(topology, 3000, 1e7, random))
            .after();
    Layout previousLayout = deployment.layout();
    int host = previousLayout.monitors().get(0).host();
    long there = 0;
    for (int flow = 0; flow < previousLayout.monitorOfFlow().length; flow++) {
      there +=
          previousLayout.monitors().get(previousLayout.monitorOfFlow()[flow]).host() == host
              ? 1
              : 0;
    }
    Deployment.Change change = deployment.close(host);
    assertRight(change.after());
    assertThat(change.movedFlows()).isEqualTo(there);
    int processesOn = (int) all(previousLayout).stream().filter(p -> p.host() == host).count();
    assertThat(change.stopped()).isEqualTo(processesOn);
    assertThat(change.started()).isLessThanOrEqualTo(processesOn + 1);
  }

  private static List<Layout.Process> all(Layout layout) {
    List<Layout.Process> all = new ArrayList<>(layout.monitors());
    all.addAll(layout.aggregators());
    all.addAll(layout.processors());
    return all;
  }

  @Test
  void aRejectedQueryChangesNothing() {
    Topology topology = LeafSpine.of(2, 1, 1, HostMaker.uniform(2, 16));
    Deployment empty = Deployment.empty(topology, Sizes.PAPER);
    Flows flows = new Flows.Builder(1).add(0, 1, 1000).build();
    assertThatThrownBy(() -> empty.add("q1", flows)).isInstanceOf(PlacementException.class);
    assertThat(empty.processes()).isZero();
  }
}
