package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.access.Scope;
import io.tapline.control.access.Token;
import io.tapline.control.access.TokenFile;
import io.tapline.control.coordination.FileWatchStore;
import io.tapline.control.drill.WatchService.Alert;
import io.tapline.control.drill.WatchService.Holder;
import io.tapline.control.testing.Await;
import io.tapline.schema.rpc.RemoveRequest;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests watches of consecutive services that use the same file, on a real node whose packets the
 * test sends through a pipe.
 */
class WatchRestartTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final Holder HOLDER = new Holder("web", "", 10);

  @TempDir Path folder;
  private Path pipe;
  private NodeProcess node;
  private FileWatchStore store;
  private DrillService drill;

  @BeforeEach
  void start() throws Exception {
    pipe = folder.resolve("packets");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    node = NodeProcess.launch(folder, "h1", pipe);
    lead(Optional.empty());
  }

  @AfterEach
  void stop() throws Exception {
    end();
    // A node that is still waiting for a writer of its pipe may not end on SIGTERM.
    node.kill();
  }

  private void lead(Optional<TokenFile> tokens) throws Exception {
    store = new FileWatchStore(folder.resolve("watches.json"));
    drill =
        DrillService.following(
            List.of(node.address()), name -> List.of(), NodeAccess.LOCAL, tokens);
    drill.watches().lead(store);
    Await.until("alerts are received", TIMEOUT, () -> drill.watches().hears("h1"));
  }

  private void end() {
    drill.close();
    store.close();
  }

  private void feed() throws Exception {
    try (OutputStream packets = Files.newOutputStream(pipe)) {
      packets.write(Files.readAllBytes(NodeProcess.capture("http_small.pcap.zst")));
    }
  }

  private static WatchSpec watch(String filter, String when) throws DrillException {
    return new WatchSpec(
        filter,
        DrillAggregate.parse("COUNT", List.of("src_ip")),
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

  private List<Alert> alerts() {
    return drill.watches().alertsAfter(0);
  }

  /** Waits until no further alert has arrived for a second; returns all alerts. */
  private List<Alert> settled() throws Exception {
    Await.until("an alert", TIMEOUT, () -> !alerts().isEmpty());
    int previousCount;
    do {
      previousCount = alerts().size();
      Thread.sleep(1_000);
    } while (alerts().size() != previousCount);
    return alerts();
  }

  private Evaluation evaluation(String watch) {
    return drill.watches().evaluations(drill.watches().records().get(watch)).get(0);
  }

  private static List<String> ids(Stream<Alert> alerts) {
    return alerts.map(Alert::id).toList();
  }

  @Test
  void aWatchContinuesWithoutAServerAndItsAlertsKeepTheirIds() throws Exception {
    String name = drill.watches().add(watch("dst_port == 80", "COUNT > 5"), HOLDER);
    end();
    feed();
    lead(Optional.empty());
    assertThat(drill.watches().list()).containsOnlyKeys(name);
    assertThat(drill.watches().ownerOf(name)).contains("web");
    List<Alert> whileDisconnected = settled();
    end();
    lead(Optional.empty());
    List<Alert> repeatedAlerts = settled();
    assertThat(ids(repeatedAlerts.stream()))
        .isEqualTo(ids(whileDisconnected.stream()))
        .doesNotHaveDuplicates();
    assertThat(repeatedAlerts).allMatch(Alert::replayed);
    assertThat(repeatedAlerts.get(0).number())
        .isGreaterThan(whileDisconnected.get(whileDisconnected.size() - 1).number());
    assertThat(evaluation(name).evaluates()).isTrue();
    assertThat(evaluation(name).coverage().gaps()).as("the node never stopped").isEmpty();
    assertThat(evaluation(name).missedAlerts()).isZero();
  }

  @Test
  void aRemovedWatchNeverReturns() throws Exception {
    String kept = drill.watches().add(watch("dst_port == 80", "COUNT > 5"), HOLDER);
    String removed = drill.watches().add(watch("", ""), HOLDER);
    drill.watches().remove(removed);
    end();
    lead(Optional.empty());
    assertThat(drill.watches().list()).containsOnlyKeys(kept);
    assertThat(defined()).containsExactly(kept);
  }

  @Test
  void aRestartedNodeGetsTheWatchBackWithAGap() throws Exception {
    String name = drill.watches().add(watch("dst_port == 80", "COUNT > 5"), HOLDER);
    Await.until("the node evaluates it", TIMEOUT, () -> evaluation(name).evaluates());
    long begin = evaluation(name).coverage().sinceNs();
    end();
    node.kill();
    lead();
    assertThat(evaluation(name).evaluates()).isFalse();
    assertThat(evaluation(name).knownToNs()).isGreaterThanOrEqualTo(begin);
    node = NodeProcess.launch(folder, "h1", pipe);
    Await.until("the node evaluates it again", TIMEOUT, () -> evaluation(name).evaluates());
    assertThat(defined()).containsExactly(name);
    Coverage coverage = evaluation(name).coverage();
    assertThat(coverage.gaps()).hasSize(1);
    assertThat(coverage.gaps().get(0).reason()).isEqualTo("the node was restarted");
    assertThat(coverage.gaps().get(0).fromNs()).isGreaterThanOrEqualTo(begin);
    assertThat(coverage.gaps().get(0).toNs()).isEqualTo(coverage.sinceNs());
    assertThat(coverage.notEvaluatedNs())
        .isPositive()
        .isEqualTo(coverage.sinceNs() - coverage.gaps().get(0).fromNs());
    end();
    lead(Optional.empty());
    assertThat(evaluation(name).coverage()).as("the gap is remembered").isEqualTo(coverage);
    feed();
    assertThat(settled()).noneMatch(Alert::replayed);
  }

  /** Starts a service without waiting for the node. */
  private void lead() throws Exception {
    store = new FileWatchStore(folder.resolve("watches.json"));
    drill =
        DrillService.following(
            List.of(node.address()), name -> List.of(), NodeAccess.LOCAL, Optional.empty());
    drill.watches().lead(store);
  }

  @Test
  void aNodeThatWasUnreachableWhenTheWatchWasAddedHasAGap() throws Exception {
    node.kill();
    Await.until("the node is unreachable", TIMEOUT, () -> !drill.watches().hears("h1"));
    String name = drill.watches().add(watch("dst_port == 80", "COUNT > 5"), HOLDER);
    assertThat(evaluation(name).evaluates()).isFalse();
    assertThat(evaluation(name).coverage()).isNull();
    node = NodeProcess.launch(folder, "h1", pipe);
    Await.until("the node evaluates it", TIMEOUT, () -> evaluation(name).evaluates());
    assertThat(evaluation(name).coverage().gaps())
        .extracting(Coverage.Gap::reason)
        .containsExactly("the node could not be reached");
  }

  @Test
  void aWatchRemovedByAnotherServerIsRestoredWithAGap() throws Exception {
    String name = drill.watches().add(watch("dst_port == 80", "COUNT > 5"), HOLDER);
    end();
    try (DrillService otherService = new DrillService(List.of(node.address()))) {
      Await.until(
          "it is cleared",
          TIMEOUT,
          () -> otherService.states().get(0).description().getDefinitionsList().isEmpty());
    }
    lead(Optional.empty());
    Await.until("it is back", TIMEOUT, () -> evaluation(name).coverage().gaps().size() == 1);
    assertThat(evaluation(name).coverage().gaps().get(0).reason())
        .isEqualTo("the node no longer had the watch");
    feed();
    assertThat(settled()).isNotEmpty();
  }

  /** Tests a server that crashes after it has defined part of a watch. */
  @Test
  void aPartlyInstalledWatchIsCompleted() throws Exception {
    String name = drill.watches().add(watch("dst_port == 80", "COUNT > 5"), HOLDER);
    end();
    try (NodeClient client = new NodeClient(node.address(), NodeAccess.LOCAL)) {
      RemoveRequest trigger = RemoveRequest.newBuilder().setTrigger(name).build();
      Snapshots.result(client.remove(trigger, Snapshots.TIMEOUT));
    }
    lead(Optional.empty());
    Await.until("it is completed", TIMEOUT, () -> evaluation(name).coverage().gaps().size() == 1);
    feed();
    assertThat(settled()).isNotEmpty();
  }

  @Test
  void aRevokedTokenEndsOnlyItsWatches() throws Exception {
    Path file = folder.resolve("tokens.yaml");
    String web = Token.hash("web");
    String db = Token.hash("db");
    String format = "  - {tenant: %s, role: %s, subnets: [%s], sha256: %s}\n";
    String all = "\"0.0.0.0/0\", \"::/0\"";
    Files.writeString(
        file,
        "tokens:\n"
            + format.formatted("web", "analyst", all, web)
            + format.formatted("db", "analyst", all, db));
    end();
    lead(Optional.of(new TokenFile(file)));
    Scope scope = new Scope(List.of(Scope.prefix("10.0.2.0/23").orElseThrow()));
    HeaderFilter filter =
        HeaderFilter.parse("dst_port == 80", Set.of("dst_port"), scope, ignored -> false);
    DrillAggregate count = DrillAggregate.parse("COUNT", List.of());
    WatchSpec scoped =
        new WatchSpec(filter, count, "", 1_000_000_000, 1_000_000, "info", List.of(), false);
    String webs = drill.watches().add(scoped, new Holder("web", web, 10));
    String dbs = drill.watches().add(scoped, new Holder("db", db, 10));
    String unowned = drill.watches().add(watch("", ""), HOLDER);
    end();
    Files.writeString(file, "tokens:\n" + format.formatted("db", "analyst", all, db));
    lead(Optional.of(new TokenFile(file)));
    assertThat(drill.watches().list()).containsOnlyKeys(dbs, unowned);
    Await.until("it is gone", TIMEOUT, () -> defined().equals(List.of(dbs, unowned)));
    WatchRecord ended = drill.watches().records().get(webs);
    assertThat(ended.isActive()).isFalse();
    assertThat(ended.reason()).isEqualTo("its token was revoked, or has expired");
    // While the server runs, the token's subnets change and no longer cover the watch.
    Files.writeString(file, "tokens:\n" + format.formatted("db", "analyst", "10.0.2.0/24", db));
    Await.until("it ends", TIMEOUT, () -> !drill.watches().records().get(dbs).isActive());
    assertThat(drill.watches().records().get(dbs).reason()).contains("no longer permits it");
    Await.until("it is gone", TIMEOUT, () -> defined().equals(List.of(unowned)));
    end();
    lead(Optional.empty());
    assertThat(drill.watches().records()).containsOnlyKeys(webs, dbs, unowned);
    assertThat(drill.watches().list()).containsOnlyKeys(unowned);
    drill.watches().remove(webs);
    assertThat(drill.watches().records()).containsOnlyKeys(dbs, unowned);
  }
}
