package io.tapline.control.coordination;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.HashKey;
import io.tapline.control.PipelineException;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryRecord;
import io.tapline.control.query.QueryState;
import io.tapline.control.testing.FreePort;
import io.tapline.control.testing.TestZooKeeper;
import io.tapline.flink.TlsFiles;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the leader election and the state store with a real ZooKeeper server. */
class LeadershipTest {
  private static final Duration SESSION = Duration.ofSeconds(30);
  private static final int SECONDS = 60;

  @TempDir Path data;

  private TestZooKeeper server;

  @BeforeEach
  void start() throws Exception {
    server = new TestZooKeeper(data);
  }

  @AfterEach
  void stop() throws Exception {
    server.close();
  }

  private Leadership connect() throws PipelineException {
    return Leadership.connect(server.address(), SESSION, TlsFiles.NONE, List.of());
  }

  private static void await(CompletableFuture<Void> event) throws Exception {
    event.get(SECONDS, TimeUnit.SECONDS);
  }

  private static QueryRecord record(String id, long submittedNs) {
    Plan plan =
        Plan.newBuilder()
            .setFormat(1)
            .setQuery(id)
            .setEpoch(3)
            .addParsers("http_get")
            .addMonitors(Monitor.newBuilder().setId("h1").setHost("h2"))
            .build();
    QueryInfo info =
        new QueryInfo(id, "PARSE …", QueryState.RUNNING, submittedNs, 2, 0, "", List.of("a note"));
    boolean stopping = submittedNs % 2 == 0;
    return new QueryRecord(info, "0".repeat(32), plan, true, List.of(plan), stopping);
  }

  @Test
  void promotesTheNextCandidateWhenTheLeaderLeaves() throws Exception {
    try (Leadership second = connect()) {
      try (Leadership first = connect()) {
        assertThat(first.leader()).isEmpty();
        first.campaign("http://first");
        await(first.led());
        second.campaign("http://second");
        assertThat(second.leader()).isEqualTo("http://first");
        assertThat(second.led()).isNotDone();
      }
      await(second.led());
      assertThat(second.leader()).isEqualTo("http://second");
      assertThat(second.lost()).isNotDone();
    }
  }

  @Test
  void recordsOutliveTheirWriterAndLaterTermsFenceIt() throws Exception {
    try (Leadership first = connect();
        Leadership second = connect()) {
      ZooKeeperStateStore oldStore = first.claim();
      assertThat(oldStore.queries()).isEmpty();
      oldStore.put(record("b", 1));
      oldStore.put(record("a", 2));
      oldStore.put(record("a", 2));
      oldStore.remove("nobody");
      oldStore.addAgent("h1");
      ZooKeeperStateStore now = second.claim();
      assertThat(now.term()).isGreaterThan(oldStore.term());
      assertThat(now.queries()).containsExactly(record("b", 1), record("a", 2));
      assertThat(now.agents()).containsExactly("h1");
      assertThatThrownBy(() -> oldStore.put(record("a", 9)))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("another control plane leads");
      assertThatThrownBy(() -> oldStore.remove("a")).hasMessageContaining("another");
      now.remove("b");
      assertThat(now.queries()).containsExactly(record("a", 2));
    }
  }

  @Test
  void theFirstKeyOfStringsIsKept() throws Exception {
    HashKey key = HashKey.random();
    try (Leadership first = connect();
        Leadership second = connect()) {
      ZooKeeperStateStore oldStore = first.claim();
      assertThat(oldStore.textKey(key).digits()).isEqualTo(key.digits());
      ZooKeeperStateStore now = second.claim();
      assertThat(now.textKey(HashKey.random()).digits()).isEqualTo(key.digits());
    }
  }

  @Test
  void reconnectsToARestartedServer() throws Exception {
    try (Leadership leadership = connect()) {
      leadership.campaign("http://only");
      await(leadership.led());
      ZooKeeperStateStore store = leadership.claim();
      server.restart();
      store.put(record("q", 1));
      assertThat(store.queries()).hasSize(1);
      assertThat(leadership.lost()).isNotDone();
    }
  }

  @Test
  void aServerThatDoesNotListenIsReported() throws Exception {
    String gone = "127.0.0.1:" + FreePort.any();
    assertThatThrownBy(
            () ->
                Leadership.connect(gone, SESSION, TlsFiles.NONE, List.of(), Duration.ofSeconds(1)))
        .isInstanceOf(PipelineException.class)
        .hasMessageContaining("no ZooKeeper answers at " + gone);
  }
}
