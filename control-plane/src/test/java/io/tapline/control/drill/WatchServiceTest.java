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
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests watches with a real node whose packets the test sends through a pipe. */
class WatchServiceTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  @TempDir Path folder;
  private Path pipe;
  private NodeProcess node;
  private DrillService drill;

  @BeforeEach
  void start() throws Exception {
    pipe = folder.resolve("packets");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    node = NodeProcess.launch(folder, "h1", pipe);
    drill = new DrillService(List.of(node.address()));
    await(() -> drill.states().get(0).description() != null);
    // From now on, the service receives the node's alerts.
    await(() -> drill.watches().hears("h1"));
  }

  @AfterEach
  void stop() throws Exception {
    drill.close();
    // A node that is still waiting for a writer of its pipe may not end on SIGTERM.
    node.kill();
  }

  private static void await(Callable<Boolean> condition) throws Exception {
    Instant end = Instant.now().plus(TIMEOUT);
    while (!condition.call()) {
      assertThat(Instant.now()).as("in time").isBefore(end);
      Thread.sleep(10);
    }
  }

  private void feed() throws Exception {
    try (OutputStream packets = Files.newOutputStream(pipe)) {
      packets.write(Files.readAllBytes(NodeProcess.capture("http_small.pcap.zst")));
    }
  }

  private static WatchSpec watch(String filter, String when, String... groupBy)
      throws DrillException {
    return new WatchSpec(
        filter,
        DrillAggregate.parse("COUNT", List.of(groupBy)),
        when,
        1_000_000_000,
        1_000_000,
        "critical",
        List.of());
  }

  private List<String> defined() {
    return drill.states().get(0).description().getDefinitionsList().stream()
        .filter(definition -> definition.hasAggregate())
        .map(definition -> definition.getAggregate().getName())
        .toList();
  }

  @Test
  void alertsFollowTheirPackets() throws Exception {
    String name = drill.watches().add(watch("dst_port == 80", "COUNT > 5", "src_ip"));
    assertThat(defined()).containsExactly(name);
    assertThat(drill.watches().alertsAfter(0)).isEmpty();
    feed();
    await(() -> !drill.watches().alertsAfter(0).isEmpty());
    Alert alert = drill.watches().alertsAfter(0).get(0);
    assertThat(alert.watch()).isEqualTo(name);
    assertThat(alert.node()).isEqualTo("h1");
    assertThat(alert.alert().getSeverity()).isEqualTo("critical");
    assertThat(alert.alert().getValues(0).getWhole()).isGreaterThan(5);
    assertThat(alert.alert().getGroupList()).containsExactly("10.1.0.12");
    // More alerts may arrive.
    List<Alert> all = drill.watches().alertsAfter(0);
    assertThat(all).extracting(Alert::number).doesNotHaveDuplicates();
    assertThat(drill.watches().alertsAfter(alert.number())).doesNotContain(alert);
  }

  @Test
  void followersChangeNoWatchesAndTheNextLeaderRemovesUnknownOnes() throws Exception {
    String first = drill.watches().add(watch("dst_port == 80", "COUNT > 5", "src_ip"));
    try (DrillService next =
        DrillService.following(
            List.of(node.address()), name -> List.of(), NodeAccess.LOCAL, Optional.empty())) {
      await(() -> next.states().get(0).description() != null);
      assertThat(next.watches().hears("h1")).as("it follows").isFalse();
      assertThat(defined()).containsExactly(first);
      // The new service knows the nodes, but has not read their watches yet.
      next.watches().lead(WatchStore.memory());
      String second = next.watches().add(watch("dst_port == 9", "COUNT > 5", "src_ip"));
      await(() -> defined().equals(List.of(second)) && next.watches().hears("h1"));
      String third = next.watches().add(watch("dst_port == 80", "COUNT > 5"));
      feed();
      await(() -> !next.watches().alertsAfter(0).isEmpty());
      assertThat(next.watches().alertsAfter(0))
          .allSatisfy(alert -> assertThat(alert.watch()).isEqualTo(third));
    }
  }

  @Test
  void removedWatchesDisappearFromTheNode() throws Exception {
    String first = drill.watches().add(watch("", ""));
    String second = drill.watches().add(watch("protocol == TCP", "COUNT > 1"));
    assertThat(defined()).containsExactly(first, second);
    drill.watches().remove(first);
    assertThat(defined()).containsExactly(second);
    drill.watches().remove(second);
    assertThat(drill.states().get(0).description().getDefinitionsList()).isEmpty();
    assertThatThrownBy(() -> drill.watches().remove(first)).hasMessageContaining(first);
  }

  @Test
  void invalidRequestsLeaveNothingBehind() throws Exception {
    for (WatchSpec wrongSpec :
        List.of(
            watch("dst_prt == 80", "COUNT > 5"),
            watch("dst_port == 80", "MEDIAN > 5"),
            watch("", "COUNT > 5", "colour"))) {
      assertThatThrownBy(() -> drill.watches().add(wrongSpec))
          .isInstanceOfSatisfying(
              DrillException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID));
    }
    assertThat(drill.watches().list()).isEmpty();
    assertThat(drill.states().get(0).description().getDefinitionsList()).isEmpty();
  }

  /**
   * Tests a node that lost its watches when it was killed, and watches that an earlier server left
   * behind.
   */
  @Test
  void aReconnectedNodeIsBroughtUpToDate() throws Exception {
    String kept = drill.watches().add(watch("dst_port == 80", "COUNT > 5"));
    node.kill();
    String added = drill.watches().add(watch("", ""));
    node = NodeProcess.launch(folder, "h1", pipe);
    await(() -> drill.states().get(0).description() != null && defined().size() == 2);
    assertThat(defined()).containsExactly(kept, added);
    drill.close();
    drill = new DrillService(List.of(node.address()));
    await(() -> drill.states().get(0).description() != null && defined().isEmpty());
  }
}
