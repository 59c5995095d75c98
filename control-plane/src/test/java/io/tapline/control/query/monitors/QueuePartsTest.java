package io.tapline.control.query.monitors;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.taps.PortNames;
import io.tapline.schema.proto.Queue;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class QueuePartsTest {
  private static final List<String> BOTH = List.of("s1:2:arrivals", "s1:2:departures");

  private static final PortNames PORTS =
      new PortNames(
          Inventory.fromYaml(
                  "network: {switches: {s1: [h1, h2], s9: []}, links: [[s1, s9]], ports: {s1: {h2: 2}}}")
              .ports());

  private static Queue queue(String switchName, String port) {
    return Queue.newBuilder().setSwitchName(switchName).setPort(port).build();
  }

  private static Map<String, List<Queue>> parts(Map<String, List<String>> taps, Queue... queues) {
    return PartPlans.byHost(List.of(queues), new TreeMap<>(taps), PORTS);
  }

  @Test
  void aQueueIsMeasuredByTheHostThatHasBothTaps() {
    Map<String, List<String>> taps =
        Map.of("h1", List.of("s1:2:arrivals", "s1:3:departures"), "h2", BOTH);
    assertThat(parts(taps, queue("s1", "2"))).isEqualTo(Map.of("h2", List.of(queue("s1", "2"))));
  }

  @Test
  void onlyOneHostMeasuresAQueue() {
    assertThat(parts(Map.of("h1", BOTH, "h2", BOTH), queue("s1", "2"))).containsOnlyKeys("h1");
  }

  /**
   * Tests that a queue without taps is assigned to the first host, whose monitor will reject the
   * query and name the missing taps.
   */
  @Test
  void theFirstHostGetsAQueueWithoutTaps() {
    Map<String, List<String>> taps = Map.of("h1", List.of(), "h2", BOTH);
    assertThat(parts(taps, queue("s1", "2"), queue("s9", "1")))
        .isEqualTo(Map.of("h1", List.of(queue("s9", "1")), "h2", List.of(queue("s1", "2"))));
  }

  /** Tests that queues are named as in their host's taps, as its monitor knows only these names. */
  @Test
  void queuesHaveTheNamesOfTheirHostsTaps() {
    Map<String, List<String>> taps = Map.of("h1", List.of("S1:h2:arrivals", "S1:h2:departures"));
    assertThat(parts(taps, queue("s1", "2"))).isEqualTo(Map.of("h1", List.of(queue("S1", "h2"))));
  }

  @Test
  void hasNoPartsWithoutHosts() {
    assertThat(parts(Map.of(), queue("s1", "2"))).isEmpty();
  }
}
