package io.tapline.control.query.monitors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.control.ProgressListener;
import io.tapline.control.embedded.EmbeddedOptions;
import io.tapline.control.embedded.EmbeddedPipeline;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.QueryState;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Queries on an interface, on real servers with the real monitor. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SharedMonitorTest {
  private static final String QUERY =
      "PARSE http_get FROM * TO * SAMPLE * PROCESS (group-count: group=method)";
  private static final long DEADLINE_NS = 60_000_000_000L;
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));
  private static final Source LOOPBACK = Source.networkInterface("lo");

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
  void theMonitorEndsWithTheService() {
    pipeline.close();
    assertThat(monitors()).isEmpty();
    assertThat(queries.monitorCount()).isZero();
  }

  private static void needsRoot() {
    assumeTrue(
        System.getProperty("user.name").equals("root"), "SKIPPED: listening on lo needs root");
  }

  private String submit(Source source) throws Exception {
    return queries.submit(QUERY, source, ProgressListener.SILENT);
  }

  private void awaitState(String id, QueryState state) throws Exception {
    await(
        id + " is " + state,
        () -> queries.find(id).map(QueryInfo::state).equals(Optional.of(state)));
  }

  private static void await(String what, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + DEADLINE_NS;
    while (!condition.call()) {
      assertThat(System.nanoTime()).as("waiting until " + what).isLessThan(deadline);
      Thread.sleep(20);
    }
  }

  private static List<ProcessHandle> monitors() {
    return ProcessHandle.current()
        .descendants()
        .filter(ProcessHandle::isAlive)
        .filter(child -> child.info().command().orElse("").endsWith("tapline-monitor"))
        .toList();
  }

  private static void signal(ProcessHandle process, String name) throws Exception {
    new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
  }

  private void expectStopped(String id) {
    queries.stop(id);
    QueryInfo end = queries.awaitEnd(id);
    assertThat(end.state()).as(end.error()).isEqualTo(QueryState.STOPPED);
  }

  @Test
  void asManyQueriesAsFitShareOneProcessThatOutlivesThem() throws Exception {
    needsRoot();
    List<String> ids = new ArrayList<>();
    for (int i = 0; i < queries.mostRunning(); i++) {
      ids.add(submit(LOOPBACK));
    }
    for (String id : ids) {
      awaitState(id, QueryState.RUNNING);
    }
    List<ProcessHandle> processes = monitors();
    assertThat(processes).hasSize(1);
    assertThat(queries.monitorCount()).isEqualTo(1);
    ids.forEach(this::expectStopped);
    expectStopped(submit(LOOPBACK));
    assertThat(monitors()).isEqualTo(processes);
  }

  @Test
  void whatKeepsTheMonitorFromListeningFailsEachQueryInItsWords() throws Exception {
    for (int i = 0; i < 2; i++) {
      QueryInfo end = queries.awaitEnd(submit(Source.networkInterface("nosuch0")));
      assertThat(end.state()).isEqualTo(QueryState.FAILED);
      assertThat(end.error()).contains("nosuch0");
    }
  }

  @Test
  void aMonitorThatDoesNotAnswerKeepsNoQueryFromEnding() throws Exception {
    needsRoot();
    String other = submit(LOOPBACK);
    String stopped = submit(LOOPBACK);
    awaitState(other, QueryState.RUNNING);
    awaitState(stopped, QueryState.RUNNING);
    assertThat(monitors()).hasSize(1);
    ProcessHandle monitor = monitors().get(0);
    signal(monitor, "STOP");
    try {
      expectStopped(stopped);
    } finally {
      signal(monitor, "CONT");
    }
    assertThat(queries.find(other).orElseThrow().state()).isEqualTo(QueryState.RUNNING);
    expectStopped(other);
    assertThat(monitors()).containsExactly(monitor);
  }
}
