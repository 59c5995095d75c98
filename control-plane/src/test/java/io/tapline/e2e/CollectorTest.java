package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testbed.Collector;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Tests link loads computed from marked copies. Skipped, with the reason, on hosts that can't run a
 * testbed.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@MakesNetworkDevices
class CollectorTest extends CollectorTestCase {
  private static final String PLAIN =
      "PARSE tcp_pkt_size FROM * TO 10.2.0.2:9000 LIMIT %ds SAMPLE * PROCESS (group-sum: group=dst_port, by=packets, w=1s)";

  @BeforeAll
  void start() throws Exception {
    network = MirroredNetwork.upWithCollector(Set.of(AGENT), "--mirror-mbit", "" + MIRROR_MBIT);
  }

  /** Returns the accounting of the copies sent to the collector. */
  private JsonNode mirrored() throws Exception {
    for (JsonNode agent : network.get("/nodes").path("agents")) {
      if (agent.path("agent").asText().equals(Collector.NAME)) {
        return agent.path("mirrored");
      }
    }
    throw new AssertionError("no agent " + Collector.NAME);
  }

  /** Returns the number of packets to and from the host that {@link #PLAIN} names. */
  private long receiverPackets() throws IOException {
    long packets = 0;
    for (String direction : List.of("tx", "rx")) {
      Path port = Path.of("/sys/class/net", network.fabric.name + "-e20h0", "statistics");
      packets += Long.parseLong(Files.readString(port.resolve(direction + "_packets")).strip());
    }
    return packets;
  }

  @Test
  void everySwitchShowsTheLoadsOfAllItsPorts() throws Exception {
    Map<String, String> previousSwitches = network.fabric.switches();
    JsonNode[] copies = new JsonNode[1];
    Loads loads =
        measure(
            "all",
            () -> {
              try {
                copies[0] = mirrored();
                assertThat(network.fabric.mirroring()).hasSize(20);
              } catch (Exception e) {
                throw new AssertionError(e);
              }
            });
    Set<String> busy = loads.busy();
    busy.removeIf(port -> !isCable(port));
    assertThat(busy).as("%s", loads.sent()).hasSizeGreaterThan(12);
    loads.agree("all", busy);
    assertThat(loads.load().keySet()).allMatch(this::isCable);
    assertThat(copies[0].path("lost").asLong()).as("%s", copies[0]).isPositive();
    assertThat(network.fabric.switches()).isEqualTo(previousSwitches);
  }

  @Test
  void edgeSwitchesShowTheLoadsOfTheirUplinks() throws Exception {
    Map<String, String> previousSwitches = network.fabric.switches();
    String plain = submit(PLAIN.formatted(SECONDS + 300));
    long crossedBefore = receiverPackets();
    double[] counted = new double[1];
    Loads loads =
        measure(
            "edge",
            () -> {
              try {
                counted[0] =
                    network.server().rows(plain).stream()
                        .mapToDouble(row -> row.path("value").asDouble())
                        .sum();
                assertThat(network.fabric.mirroring().keySet())
                    .hasSize(8)
                    .allMatch(bridge -> bridge.startsWith("e"));
                String refused = network.submit(LOAD.formatted("all", SECONDS + 300, "share"));
                Fabric.await(
                    "it has failed",
                    () ->
                        network.get("/queries/" + refused).path("state").asText().equals("failed"));
                assertThat(network.get("/queries/" + refused).path("error").asText())
                    .contains("is running with vantage=edge");
              } catch (Exception e) {
                throw new AssertionError(e);
              }
            });
    network.stop(plain);
    Set<String> uplinks = loads.busy();
    uplinks.removeIf(port -> !port.matches("edge-\\d-\\d:[34]"));
    assertThat(uplinks).as("%s", loads.sent()).hasSizeBetween(2, 8);
    loads.agree("edge", uplinks);
    // All ports in the rows are uplinks: a copy of a packet between hosts of the same switch names
    // no port.
    assertThat(loads.load().keySet()).allMatch(port -> port.matches("edge-\\d-\\d:[34]"));
    // A packet that another query also selects reaches each query exactly once.
    long crossed = receiverPackets() - crossedBefore;
    assertThat(counted[0]).as("%d packets", crossed).isBetween(0.9 * crossed, 1.0 * crossed);
    assertThat(network.fabric.switches()).isEqualTo(previousSwitches);
  }
}
