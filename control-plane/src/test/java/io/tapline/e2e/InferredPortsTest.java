package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Tests link loads from copies that switches do not mark: the monitor infers the ports from the
 * routes that the controller sends. Skipped, with the reason, on hosts that can't run a testbed.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@MakesNetworkDevices
class InferredPortsTest extends CollectorTestCase {
  @BeforeAll
  void start() throws Exception {
    network =
        MirroredNetwork.upWithCollector(
            Set.of(AGENT),
            InferredPortsTest::unmark,
            "--mirror-mbit",
            Integer.toString(MIRROR_MBIT));
  }

  /** Declares in a testbed's inventory that the switches can't mark copies. */
  static void unmark(Fabric fabric) throws Exception {
    Path inventory = Path.of(fabric.inventory());
    String marked = Files.readString(inventory);
    Files.writeString(
        inventory, marked.replace("  openflow:\n", "  openflow:\n    copies: unmarked\n"));
  }

  @Test
  void portsFollowFromRoutes() throws Exception {
    Loads loads = measure("all", () -> {});
    Set<String> busy = loads.busy();
    busy.removeIf(port -> !isCable(port));
    assertThat(busy).as("%s", loads.sent()).hasSizeGreaterThan(12);
    loads.agree("all, ports from routes", busy);
  }
}
