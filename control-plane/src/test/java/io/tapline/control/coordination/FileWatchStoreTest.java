package io.tapline.control.coordination;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.compiler.access.Scope;
import io.tapline.control.drill.Coverage;
import io.tapline.control.drill.DrillAggregate;
import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.HeaderFilter;
import io.tapline.control.drill.WatchRecord;
import io.tapline.control.drill.WatchRun;
import io.tapline.control.drill.WatchService;
import io.tapline.control.drill.WatchSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the watch file, and that stored records are read back unchanged. */
class FileWatchStoreTest {
  private static final String HASH =
      "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8";

  @TempDir Path folder;
  private Path file;

  @BeforeEach
  void name() {
    file = folder.resolve("watches.json");
  }

  private static Scope scope(String... prefixes) {
    return new Scope(
        List.of(prefixes).stream().map(prefix -> Scope.prefix(prefix).orElseThrow()).toList());
  }

  /** Returns a watch with a scope, groups, nodes, and a gap in its coverage. */
  static WatchRecord scoped() throws Exception {
    HeaderFilter filter =
        HeaderFilter.parse(
            "dst_port in {80, 443} && payload_bytes > 0 && seq < SEQ && flow_label != \"a\\\"<b\"",
            Set.of("dst_port", "payload_bytes", "seq", "flow_label"),
            scope("10.0.2.0/24", "fd00::/64"),
            WatchSpec.PROGRESS_NAMES::contains);
    WatchSpec spec =
        new WatchSpec(
            filter,
            DrillAggregate.parse("QUANTILE(bytes, 0.99)", List.of("src_ip", "dst_ip")),
            "QUANTILE > 1000",
            2_000_000_000,
            5_000_000,
            "critical",
            List.of("h1", "h2"),
            false);
    Coverage coverage = Coverage.since(7, 1_000).resumed(8, 2_000, 3_500, "the node was restarted");
    return WatchRecord.added("watch_12", spec, "web", HASH, 999).with("h1", coverage);
  }

  /**
   * Returns a watch that a query evaluates. Its filter has no condition tree, since the query's
   * text contains the scope.
   */
  private static WatchRecord inMonitor() throws DrillException {
    WatchSpec spec =
        new WatchSpec(
            new HeaderFilter("dst_port == 80", Optional.empty(), scope("10.0.2.0/24")),
            DrillAggregate.parse("COUNT", List.of("src_ip/24")),
            "count(syn) > 5",
            30_000_000,
            10_000_000,
            "info",
            List.of(),
            false,
            new WatchRun(true, "requested"),
            new WatchSpec.Rules(2, "count(syn) < 3", 50_000_000));
    return new WatchRecord("watch_7", spec, "web", HASH, 999, 0, "", "web-1", 3, Map.of());
  }

  private static WatchRecord open(String id) throws DrillException {
    WatchSpec spec =
        new WatchSpec(
            "dst_port == 53",
            DrillAggregate.parse("SUM(bytes)", List.of()),
            "SUM > 10MB",
            1_000_000_000,
            1_000_000,
            "warning",
            List.of(),
            true);
    return WatchRecord.added(id, spec, WatchService.NO_OWNER, "", 1_000);
  }

  @Test
  void recordsSurviveUnchanged() throws Exception {
    WatchRecord ended = open("watch_1").ended(5_000, "its token was revoked, or has expired");
    try (FileWatchStore store = new FileWatchStore(file)) {
      assertThat(store.watches()).isEmpty();
      store.put(scoped());
      store.put(ended);
      store.put(inMonitor());
      store.put(open("watch_2"));
      store.removeWatch("watch_2");
      store.removeWatch("watch_3");
      store.putLastHeard(Map.of("h1", 42L));
    }
    try (FileWatchStore store = new FileWatchStore(file)) {
      assertThat(store.watches()).containsExactly(scoped(), ended, inMonitor());
      assertThat(store.watches().get(0).spec().filter().scope())
          .isEqualTo(scope("10.0.2.0/24", "fd00::/64"));
      assertThat(store.lastHeard()).isEqualTo(Map.of("h1", 42L));
    }
  }

  /** Tests that alert numbers increase across restarts. */
  @Test
  void eachServerHasADifferentEpoch() throws Exception {
    for (long epoch = 0; epoch < 3; epoch++) {
      try (FileWatchStore store = new FileWatchStore(file)) {
        assertThat(store.lastAlert()).isEqualTo(epoch * 1_000_000_000);
      }
    }
  }

  @Test
  void aFileBelongsToOneServer() throws Exception {
    try (FileWatchStore store = new FileWatchStore(file)) {
      store.put(open("watch_1"));
      assertThatThrownBy(() -> new FileWatchStore(file))
          .isInstanceOf(IOException.class)
          .hasMessage(file + ": another server keeps its watches there");
      store.put(open("watch_2"));
    }
    try (FileWatchStore store = new FileWatchStore(file)) {
      assertThat(store.watches()).hasSize(2);
    }
  }

  @Test
  void aFileOfAnotherFormatIsLeftUnchanged() throws Exception {
    for (String text :
        List.of(
            "", "tokens:\n- a", "{}", "[1]", "{\"epoch\": 0, \"watches\": [{\"id\": \"a\"}]}")) {
      Files.writeString(file, text);
      assertThatThrownBy(() -> new FileWatchStore(file))
          .as(text)
          .isInstanceOf(IOException.class)
          .hasMessageContaining(file.toString());
      assertThat(Files.readString(file)).isEqualTo(text);
    }
    assertThatThrownBy(() -> new FileWatchStore(folder.resolve("none/watches.json")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("does its folder exist");
  }

  /** Tests damaged records, since a record without its scope would be a watch on all traffic. */
  @Test
  void aScopeIsNeverLost() throws Exception {
    for (String member : List.of("scope", "condition")) {
      ObjectNode json = WatchJson.of(scoped());
      json.remove(member);
      assertThatThrownBy(() -> WatchJson.read(json))
          .isInstanceOf(IOException.class)
          .hasMessageContainingAll("watch_12", "scope");
    }
  }
}
