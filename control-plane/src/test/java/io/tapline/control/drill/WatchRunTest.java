package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests how {@code run} and the condition determine if a monitor or the nodes run a watch. */
class WatchRunTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "auto | '' | node",
        "'' | COUNT > 5 | node",
        "auto | SUM > 10MB | node",
        "auto | P99 > 1000 | node",
        "auto | count(syn) > 5 | monitor",
        "auto | burst(bytes, 100us) > 60KB | monitor",
        "auto | COUNT > 5 and count(rst) > 2 | monitor",
        "monitor | COUNT > 5 | monitor",
        "auto | COUNT > 5 && (COUNT < 9 or (COUNT > 20)) | node",
        "node | COUNT > 5 | node",
      })
  void theConditionDeterminesWhereAWatchRuns(String run, String when, String place)
      throws DrillException {
    WatchRun chosenRun = WatchRun.choose(run, when);
    assertThat(chosenRun.name()).isEqualTo(place);
    assertThat(chosenRun.reason()).isNotBlank();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "monitor | SUM > 5 | run=monitor needs a condition on the packets of a window",
        "monitor | '' | run=monitor needs a condition",
        "node | count(syn) > 5 | run=node can't evaluate 'count(syn) > 5'",
        "host | COUNT > 5 | run 'host' is not one of auto, monitor, node",
      })
  void placesThatCantEvaluateTheConditionAreRefused(String run, String when, String message) {
    assertThatThrownBy(() -> WatchRun.choose(run, when))
        .isInstanceOf(DrillException.class)
        .hasMessageContaining(message);
  }

  private static WatchSpec with(WatchRun run, long windowNs, WatchSpec.Rules rules)
      throws DrillException {
    return new WatchSpec(
        HeaderFilter.ofText(""),
        DrillAggregate.parse("COUNT", List.of()),
        "count > 5",
        windowNs,
        10_000_000,
        "info",
        List.of(),
        false,
        run,
        rules);
  }

  @Test
  void windowsOfAMonitorMayOverlapAndAlertsMayLast() throws Exception {
    WatchRun monitor = new WatchRun(true, "requested");
    with(monitor, 10_000_000, new WatchSpec.Rules(3, "count < 2", 50_000_000)).check();
    with(monitor, 1_000_000_000, WatchSpec.Rules.NONE).check();
    assertThatThrownBy(() -> with(monitor, 1_010_000_000, WatchSpec.Rules.NONE).check())
        .hasMessageContaining("at most 100 times as long");
    assertThatThrownBy(() -> with(monitor, 15_000_000, WatchSpec.Rules.NONE).check())
        .hasMessageContaining("a multiple of every");
    assertThatThrownBy(() -> with(monitor, 10_000_000, new WatchSpec.Rules(0, "", 0)).check())
        .hasMessageContaining("after must be 1 to");
    assertThatThrownBy(() -> with(monitor, 10_000_000, new WatchSpec.Rules(1, "", 5)).check())
        .hasMessageContaining("cooldown must be 1 ms to a year");
    assertThatThrownBy(() -> with(monitor, 10_000_000, new WatchSpec.Rules(1, "\"", 0)).check())
        .hasMessageContaining("leave out quotes");
    assertThatThrownBy(
            () -> with(WatchRun.NODES, 10_000_000, new WatchSpec.Rules(2, "", 0)).check())
        .hasMessageContaining("leave out after, clear and cooldown, or use run=monitor");
  }

  private static WatchSpec inMonitor(
      String filter, String aggregate, List<String> hosts, String... groupBy)
      throws DrillException {
    return new WatchSpec(
        HeaderFilter.ofText(filter),
        DrillAggregate.parse(aggregate, List.of(groupBy)),
        "count > 5",
        1_000_000_000,
        1_000_000_000,
        "info",
        hosts,
        false,
        new WatchRun(true, "requested"));
  }

  @Test
  void monitorsRejectAggregatesHostsAndSwitchNames() throws Exception {
    inMonitor("dst_port == 80", "COUNT", List.of(), "src_ip/24/64", "dst-port").check();
    assertThatThrownBy(() -> inMonitor("", "COUNT", List.of(), "src_ip), (top-k").check())
        .hasMessageContaining("a monitor groups packets by addresses");
    assertThatThrownBy(() -> inMonitor("", "SUM(bytes)", List.of()).check())
        .hasMessageContaining("write when=\"sum(bytes) > …\"");
    assertThatThrownBy(() -> inMonitor("", "COUNT", List.of("h1")).check())
        .hasMessageContaining("the server's one monitor");
    assertThatThrownBy(() -> inMonitor("switch == \"s1\"", "COUNT", List.of()).check())
        .hasMessageContaining("only addresses and ports");
  }
}
