package io.tapline.control.query;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.access.Rights;
import io.tapline.compiler.access.Scope;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.control.ProgressListener;
import io.tapline.control.embedded.EmbeddedOptions;
import io.tapline.control.embedded.EmbeddedPipeline;
import io.tapline.control.query.monitors.Source;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Tests queries on real servers with the real monitor. Regardless of how a query ends, only its
 * results must remain.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class QueryServiceTest {
  private static final String QUERY =
      "PARSE http_get FROM * TO * LIMIT 90s SAMPLE * PROCESS (group-count: group=method)";
  private static final long DEADLINE_NS = 60_000_000_000L;
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));

  private EmbeddedPipeline pipeline;
  private QueryService queries;

  @BeforeAll
  void start() throws Exception {
    Path monitor = ROOT.resolve("build/bin/tapline-monitor");
    assertThat(monitor).as("the native programs must be built first: make native").isExecutable();
    Catalogue catalogue =
        Catalogue.fromJson(Files.readString(ROOT.resolve("build/share/tapline/parsers.json")));
    pipeline =
        EmbeddedPipeline.start(
            EmbeddedOptions.of(monitor, catalogue, Inventory.empty()), ProgressListener.SILENT);
    queries = pipeline.queries();
  }

  @AfterAll
  void stop() {
    pipeline.close();
  }

  @AfterEach
  void nothingIsLeft() throws Exception {
    await("no query runs", () -> queries.runningCount() == 0);
    assertThat(children("tapline-monitor")).as("monitors").isEmpty();
    await("topics are deleted", () -> files("tapline.tuples.").isEmpty());
    assertThat(files("q-")).as("plan files").isEmpty();
  }

  /** Returns a capture that is read quickly. */
  private static Source small() {
    return Source.files(List.of(ROOT.resolve("testbed/captures/http_small.pcap.zst")), "max");
  }

  /** Returns a capture that takes most of a minute to read. */
  private static Source slow() {
    return Source.files(List.of(ROOT.resolve("testbed/three_tier/three_tier.pcap.zst")), "1x");
  }

  private String submit(Source source) throws Exception {
    return queries.submit(QUERY, source, ProgressListener.SILENT);
  }

  /** Returns the rows of a query whose windows fit on one page. */
  private List<JsonNode> rows(String id) {
    List<JsonNode> rows = new ArrayList<>();
    queries.results().windowsAfter(id, "").forEach(window -> window.rows().forEach(rows::add));
    return rows;
  }

  private static void await(String awaited, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + DEADLINE_NS;
    while (!condition.call()) {
      assertThat(System.nanoTime()).as("waiting until " + awaited).isLessThan(deadline);
      Thread.sleep(20);
    }
  }

  private void awaitState(String id, QueryState state) throws Exception {
    await(
        id + " is " + state,
        () -> queries.find(id).map(QueryInfo::state).equals(Optional.of(state)));
  }

  private static List<ProcessHandle> children(String program) {
    List<ProcessHandle> children = new ArrayList<>();
    for (ProcessHandle child : ProcessHandle.current().descendants().toList()) {
      if (child.isAlive() && child.info().command().orElse("").endsWith(program)) {
        children.add(child);
      }
    }
    return children;
  }

  /**
   * Returns the files with this prefix in temporary folders, except those that are being deleted.
   */
  private static List<Path> files(String prefix) throws IOException {
    Path folder = Path.of(System.getProperty("java.io.tmpdir"));
    try (Stream<Path> all = Files.walk(folder, 2)) {
      return all.filter(p -> p.getFileName().toString().startsWith(prefix))
          .filter(p -> !p.getFileName().toString().endsWith("-delete"))
          .toList();
    } catch (java.io.UncheckedIOException vanished) {
      return files(prefix);
    }
  }

  @Test
  void aTenantHasAMaximumOfQueries() throws Exception {
    Rights web = new Rights("web", true, Scope.EVERYTHING);
    String first = queries.submit(QUERY, slow(), ProgressListener.SILENT, web, 1);
    assertThatThrownBy(() -> queries.submit(QUERY, small(), ProgressListener.SILENT, web, 1))
        .isInstanceOf(TooManyQueries.class)
        .hasMessageContaining("web has 1 running queries");
    String otherQuery = submit(small());
    queries.stop(first);
    queries.awaitEnd(first);
    queries.awaitEnd(otherQuery);
    queries.awaitEnd(queries.submit(QUERY, small(), ProgressListener.SILENT, web, 1));
  }

  @Test
  void runsToTheEndAndKeepsItsResults() throws Exception {
    String id = submit(small());
    QueryInfo end = queries.awaitEnd(id);
    assertThat(end.state()).as(end.error()).isEqualTo(QueryState.FINISHED);
    assertThat(end.submittedNs()).isPositive().isLessThanOrEqualTo(end.startedNs());
    assertThat(end.startedNs()).isLessThanOrEqualTo(end.endedNs());
    assertThat(end.text()).startsWith("PARSE http_get\n");
    List<JsonNode> rows = rows(id);
    assertThat(rows.stream().map(row -> row.at("/key/method").asText()))
        .contains("GET", "POST", "HEAD");
    assertThat(queries.results().totals(id).path("packets_in").asLong()).isEqualTo(364);
    assertThat(queries.list()).extracting(QueryInfo::id).contains(id);
  }

  @Test
  void stoppingEarlyKeepsTheResultsSoFar() throws Exception {
    String id = submit(slow());
    awaitState(id, QueryState.RUNNING);
    queries.stop(id);
    queries.stop(id);
    assertThat(queries.awaitEnd(id).state()).isEqualTo(QueryState.STOPPED);
    queries.stop(id);
    assertThat(queries.find(id).orElseThrow().state()).isEqualTo(QueryState.STOPPED);
    long packets = queries.results().totals(id).path("packets_in").asLong();
    assertThat(packets).isLessThan(125_599);
  }

  @Test
  void anEndDuringAnOutageOfRedisIsWrittenLater() throws Exception {
    String id = submit(slow());
    awaitState(id, QueryState.RUNNING);
    QueryInfo shownInfo;
    signalRedis("STOP");
    try {
      queries.failAll("lost");
      awaitState(id, QueryState.FAILED);
      shownInfo = queries.find(id).orElseThrow();
      assertThat(queries.runningCount()).as("it is not forgotten").isEqualTo(1);
    } finally {
      signalRedis("CONT");
    }
    await("Redis has its final state", () -> queries.runningCount() == 0);
    QueryInfo writtenInfo = queries.find(id).orElseThrow();
    assertThat(writtenInfo.state()).isEqualTo(QueryState.FAILED);
    assertThat(writtenInfo.error()).isNotEmpty().isEqualTo(shownInfo.error());
  }

  /** Sends a signal to the Redis server, whose executable is called redis-check-rdb in Debian. */
  private static void signalRedis(String signal) throws Exception {
    List<ProcessHandle> servers =
        ProcessHandle.current()
            .descendants()
            .filter(child -> child.info().command().orElse("").contains("/redis-"))
            .toList();
    assertThat(servers).hasSize(1);
    String pid = Long.toString(servers.get(0).pid());
    assertThat(new ProcessBuilder("kill", "-" + signal, pid).start().waitFor()).isZero();
  }

  @Test
  void aQueryCanBeStoppedBeforeItRuns() throws Exception {
    String id = submit(slow());
    queries.stop(id);
    assertThat(queries.awaitEnd(id).state()).isEqualTo(QueryState.STOPPED);
  }

  /** Tests monitors that have just been started, and do not handle signals yet. */
  @Test
  void aQueryCanBeStoppedWhileItsMonitorStarts() throws Exception {
    for (int delayMs = 0; delayMs < 100; delayMs += 4) {
      String id = submit(slow());
      Thread.sleep(delayMs);
      queries.stop(id);
      QueryInfo end = queries.awaitEnd(id);
      assertThat(end.state())
          .as("after %d ms: %s", delayMs, end.error())
          .isEqualTo(QueryState.STOPPED);
    }
  }

  @Test
  void stoppingAnUnknownQueryChangesNothing() {
    queries.stop("q-20200101-000000-000000");
    assertThat(queries.find("q-20200101-000000-000000")).isEmpty();
  }

  @Test
  void aKilledMonitorFailsTheQueryWithAReason() throws Exception {
    String id = submit(slow());
    awaitState(id, QueryState.RUNNING);
    children("tapline-monitor").forEach(ProcessHandle::destroyForcibly);
    QueryInfo end = queries.awaitEnd(id);
    assertThat(end.state()).isEqualTo(QueryState.FAILED);
    assertThat(end.error()).contains("monitor").contains("signal 9");
  }

  @Test
  void aReadErrorOfTheMonitorFailsTheQueryWithItsMessage() throws Exception {
    String id = submit(Source.files(List.of(Path.of("/dev/null/nothing.pcap")), "max"));
    QueryInfo end = queries.awaitEnd(id);
    assertThat(end.state()).isEqualTo(QueryState.FAILED);
    assertThat(end.error()).contains("/dev/null/nothing.pcap");
  }

  @Test
  void queriesBeyondTheMaximumAreRejected() throws Exception {
    List<String> ids = new ArrayList<>();
    for (int i = 0; i < queries.maxRunning(); i++) {
      ids.add(submit(slow()));
    }
    assertThatThrownBy(() -> submit(slow()))
        .isInstanceOf(TooManyQueries.class)
        .hasMessageContaining(Integer.toString(queries.maxRunning()));
    ids.forEach(queries::stop);
    for (String id : ids) {
      QueryInfo end = queries.awaitEnd(id);
      assertThat(end.state()).as(end.error()).isEqualTo(QueryState.STOPPED);
    }
  }

  @Test
  void anInvalidQueryIsRejected() {
    assertThatThrownBy(() -> queries.submit("PARSE nothing", small(), ProgressListener.SILENT))
        .isInstanceOf(QueryRejected.class)
        .hasMessageContaining("query:1:7");
  }

  @Test
  void redisFailureFailsRunningQueriesOnly() throws Exception {
    String id = submit(slow());
    awaitState(id, QueryState.RUNNING);
    List<ProcessHandle> redis = children("redis-check-rdb");
    redis.addAll(children("redis-server"));
    assertThat(redis).hasSize(1);
    redis.get(0).destroyForcibly();
    await("the query has failed", () -> failed(id));
    assertThat(queries.find(id).orElseThrow().error()).contains("redis-server ended unexpectedly");
    assertThat(queries.services().ready()).isTrue();
    String next = submit(small());
    QueryInfo end = queries.awaitEnd(next);
    assertThat(end.state()).as(end.error()).isEqualTo(QueryState.FINISHED);
    assertThat(rows(next)).isNotEmpty();
  }

  private boolean failed(String id) {
    try {
      return queries.find(id).map(QueryInfo::state).equals(Optional.of(QueryState.FAILED));
    } catch (redis.clients.jedis.exceptions.JedisException notStarted) {
      return false;
    }
  }
}
