package io.tapline.control.coordination;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.PipelineException;
import io.tapline.control.drill.Coverage;
import io.tapline.control.drill.DrillAggregate;
import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.Evaluation;
import io.tapline.control.drill.NodeAccess;
import io.tapline.control.drill.NodeProcess;
import io.tapline.control.drill.WatchRecord;
import io.tapline.control.drill.WatchSpec;
import io.tapline.control.drill.WatchStore;
import io.tapline.control.testing.Await;
import io.tapline.control.testing.TestZooKeeper;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests how a new leader takes over watches, with a real ZooKeeper server and a real node. */
class ZooKeeperWatchStoreTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  @TempDir Path folder;
  private TestZooKeeper server;
  private NodeProcess node;

  @BeforeEach
  void start() throws Exception {
    server = new TestZooKeeper(folder.resolve("zookeeper"));
    node = NodeProcess.launch(folder, "h1", NodeProcess.capture("http_small.pcap.zst"));
  }

  @AfterEach
  void stop() throws Exception {
    node.kill();
    server.close();
  }

  private Leadership connect() throws PipelineException {
    return Leadership.connect(server.address(), Duration.ofSeconds(30), TlsFiles.NONE, List.of());
  }

  private DrillService following() {
    return DrillService.following(
        List.of(node.address()), name -> List.of(), NodeAccess.LOCAL, Optional.empty());
  }

  private static WatchSpec watch() throws DrillException {
    DrillAggregate count = DrillAggregate.parse("COUNT", List.of("src_ip"));
    return new WatchSpec(
        "dst_port == 80", count, "COUNT > 5", 1_000_000_000, 1_000_000, "info", List.of());
  }

  private static Evaluation evaluation(DrillService drill, String watch) {
    return drill.watches().evaluations(drill.watches().records().get(watch)).get(0);
  }

  private static boolean evaluates(DrillService drill, String watch) {
    return evaluation(drill, watch).evaluates();
  }

  /**
   * Returns the gaps in a watch's coverage. If its node answers late, there is a gap at the
   * beginning.
   */
  private static List<Coverage.Gap> gaps(DrillService drill, String watch) {
    return evaluation(drill, watch).coverage().gaps();
  }

  @Test
  void theNextLeaderHasTheWatchesAndADeposedOneIsFenced() throws Exception {
    try (Leadership first = connect();
        Leadership second = connect();
        DrillService oldService = following();
        DrillService next = following()) {
      oldService.watches().lead(first.claim().watchStore());
      String kept = oldService.watches().add(watch());
      String removed = oldService.watches().add(watch());
      Await.until("it is evaluated", TIMEOUT, () -> evaluates(oldService, kept));
      oldService.watches().remove(removed);
      next.watches().lead(second.claim().watchStore());
      assertThat(next.watches().list()).containsOnlyKeys(kept);
      Await.until("it is evaluated again", TIMEOUT, () -> evaluates(next, kept));
      assertThat(gaps(next, kept)).as("the node never stopped").isEqualTo(gaps(oldService, kept));
      assertThatThrownBy(() -> oldService.watches().add(watch()))
          .isInstanceOf(DrillException.class)
          .hasMessageContaining("another control plane leads");
      assertThatThrownBy(() -> oldService.watches().remove(kept))
          .isInstanceOf(DrillException.class);
      assertThat(next.watches().list()).containsOnlyKeys(kept);
    }
  }

  private static List<WatchRecord> records(int count) throws DrillException {
    List<WatchRecord> records = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      records.add(WatchRecord.added("watch_" + i, watch(), "o".repeat(200), "token", i));
    }
    return records;
  }

  /** Tests more watches than fit into one transaction. */
  @Test
  void newWatchesAreStoredAllOrNone() throws Exception {
    List<WatchRecord> records = records(4096);
    try (Leadership first = connect();
        Leadership second = connect()) {
      ZooKeeperStateStore oldStore = first.claim();
      oldStore.watchStore().putAll(records.subList(0, 2));
      oldStore.watchStore().putAll(records);
      assertThat(oldStore.watchStore().watches()).isEqualTo(records);
      oldStore
          .watchStore()
          .removeAll(records.subList(3, 4096).stream().map(WatchRecord::id).toList());
      oldStore.watchStore().removeWatch("watch_2");
      assertThat(oldStore.watchStore().watches()).isEqualTo(records.subList(0, 2));
      // Simulates a control plane that ended while it stored watches 2 to 4, after it had stored
      // one of them.
      oldStore.put(
          "/watches-unfinished", "[\"watch_2\", \"watch_3\", \"watch_4\"]".getBytes(UTF_8));
      oldStore.watchStore().put(records.get(3));
      ZooKeeperStateStore now = second.claim();
      assertThat(now.watchStore().watches()).isEqualTo(records.subList(0, 2));
      assertThat(now.has("/watches-unfinished")).isFalse();
      assertThatThrownBy(() -> oldStore.watchStore().putAll(records))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("another control plane leads");
      assertThat(now.watchStore().watches()).isEqualTo(records.subList(0, 2));
    }
  }

  @Test
  void termsIncreaseAndFenceEarlierWrites() throws Exception {
    try (Leadership first = connect();
        Leadership second = connect()) {
      WatchStore oldStore = first.claim().watchStore();
      assertThat(oldStore.watches()).isEmpty();
      assertThat(oldStore.lastHeard()).isEmpty();
      oldStore.putLastHeard(Map.of("h1", 7L));
      WatchStore now = second.claim().watchStore();
      assertThat(now.lastAlert()).isGreaterThan(oldStore.lastAlert()).isLessThan(1L << 53);
      assertThat(now.lastHeard()).isEqualTo(Map.of("h1", 7L));
      assertThatThrownBy(() -> oldStore.putLastHeard(Map.of()))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("another control plane leads");
    }
  }
}
