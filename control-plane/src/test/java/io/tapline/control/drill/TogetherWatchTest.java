package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.drill.DrillException.Kind;
import io.tapline.control.drill.WatchService.Alert;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests watches on the total of two real nodes, to which the test sends a bundled capture. */
class TogetherWatchTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final long SECOND_NS = 1_000_000_000;

  @TempDir Path folder;
  private final List<NodeProcess> nodes = new ArrayList<>();
  private DrillService drill;

  @BeforeEach
  void start() throws Exception {
    for (String name : List.of("h1", "h2")) {
      Path pipe = folder.resolve("packets-" + name);
      assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
      nodes.add(NodeProcess.launch(folder, name, pipe));
    }
    drill = new DrillService(nodes.stream().map(NodeProcess::address).toList());
    await(() -> drill.states().stream().allMatch(node -> node.description() != null));
    // From now on, the service receives the nodes' alerts.
    await(() -> drill.watches().hears("h1") && drill.watches().hears("h2"));
  }

  @AfterEach
  void stop() throws Exception {
    drill.close();
    for (NodeProcess node : nodes) {
      node.kill();
    }
  }

  private static void await(Callable<Boolean> condition) throws Exception {
    Instant end = Instant.now().plus(TIMEOUT);
    while (!condition.call()) {
      assertThat(Instant.now()).as("in time").isBefore(end);
      Thread.sleep(10);
    }
  }

  private void feed(String node) throws Exception {
    try (OutputStream packets = Files.newOutputStream(folder.resolve("packets-" + node))) {
      packets.write(Files.readAllBytes(NodeProcess.capture("http_small.pcap.zst")));
    }
  }

  private String add(String when, boolean together, List<String> on) throws DrillException {
    DrillAggregate count = DrillAggregate.parse("COUNT", List.of("src_ip"));
    return drill
        .watches()
        .add(
            new WatchSpec(
                "dst_port == 80", count, when, SECOND_NS, 1_000_000, "warning", on, together));
  }

  private List<Alert> alerts(String watch) {
    return drill.watches().alertsAfter(0).stream()
        .filter(alert -> alert.watch().equals(watch))
        .toList();
  }

  /**
   * Tests a threshold that only the total exceeds: in the capture's busiest second, one client
   * sends 117 packets.
   */
  @Test
  void aTotalAboveTheThresholdIsFound() throws Exception {
    String together = add("COUNT > 200", true, List.of());
    String alone = add("COUNT > 100", false, List.of("h1"));
    feed("h1");
    await(() -> !alerts(alone).isEmpty());
    assertThat(alerts(together)).as("h1 has reached its share, but not the total").isEmpty();
    feed("h2");
    await(() -> !alerts(together).isEmpty());
    Alert alert = alerts(together).get(0);
    assertThat(alert.node()).isEqualTo("h1+h2");
    assertThat(alert.parts()).containsOnlyKeys("h1", "h2");
    assertThat(alert.parts().values()).allMatch(part -> part > 100 && part <= 117);
    long sum = alert.parts().values().stream().mapToLong(part -> part).sum();
    assertThat(alert.alert().getValues(0).getWhole()).isEqualTo(sum).isGreaterThan(200);
    assertThat(alert.alert().getGroupList()).containsExactly("10.1.0.12");
    assertThat(alert.missing()).isEmpty();
    await(() -> drill.watches().pending() == 0);
    assertThat(drill.watches().leftOut(together)).isZero();
  }

  @Test
  void sharesAreRoundedToMissNoAlert() throws Exception {
    DrillAggregate sum = DrillAggregate.parse("SUM(bytes)", List.of());
    assertThat(SharedThreshold.parse("SUM > 10MB", sum).share(4)).isEqualTo("SUM > 2500000");
    assertThat(SharedThreshold.parse("SUM >= 3 ms", sum).share(3)).isEqualTo("SUM >= 1000000");
    for (String comparison : List.of(">", ">=")) {
      for (int nodes = 1; nodes < 8; nodes++) {
        for (int threshold = 0; threshold < 50; threshold++) {
          String when = "SUM " + comparison + " " + threshold;
          SharedThreshold wholeThreshold = SharedThreshold.parse(when, sum);
          SharedThreshold share = SharedThreshold.parse(wholeThreshold.share(nodes), sum);
          // The largest value that a node does not report.
          int max = 0;
          while (!share.holds(max + 1)) {
            max++;
          }
          boolean isEmpty = !share.holds(0) && wholeThreshold.holds((double) nodes * max);
          assertThat(isEmpty).as("%s of %d", when, nodes).isFalse();
        }
      }
    }
  }

  @Test
  void conditionsThatCantBeSplitAreRejected() {
    for (String when :
        List.of(
            "COUNT < 5",
            "COUNT == 5",
            "AVG > 5",
            "COUNT > x",
            "COUNT > 5x",
            "COUNT > 5 && COUNT > 7",
            "")) {
      assertThatThrownBy(() -> add(when, true, List.of()))
          .isInstanceOfSatisfying(
              DrillException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID));
    }
    assertThat(drill.watches().list()).isEmpty();
  }
}
