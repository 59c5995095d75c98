package io.tapline.control.diagnose;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.diagnose.LossReport.Cause;
import io.tapline.control.diagnose.LossReport.Contender;
import io.tapline.control.diagnose.LossReport.Finding;
import io.tapline.control.diagnose.LossReport.Retransmitted;
import io.tapline.control.diagnose.OutcastReport.Link;
import io.tapline.control.diagnose.PathReport.Violation;
import io.tapline.control.drill.DrillException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares the diagnoses of ns-3 traces with ns-3's ground truth. */
class DiagnosisTest {
  private static final long SECOND_NS = 1_000_000_000;

  /**
   * Minimum share of losses that must be detected. The loss of a retransmission, or of a flow's
   * last packet, is undetectable.
   */
  private static final double MOSTLY = 0.7;

  @TempDir Path folder;

  @ParameterizedTest
  @CsvSource({
    "equal-priority, 102, 202, CONTENTION_OF_EQUALS",
    "unequal-priority, 102, 202, YIELDS_TO_PRIORITY",
    "many-flows, 102, 202, CONTENTION_OF_EQUALS",
    "periodic-bug, 202, 0, PERIODIC_FAULT"
  })
  void findsFigure2sCausesAtOneSwitch(String experiment, int switchId, int next, Cause cause)
      throws Exception {
    try (TracedNodes nodes = new TracedNodes(folder, experiment)) {
      LossReport report = losses(nodes);
      assertThat(report.findings()).hasSize(1);
      Finding finding = report.findings().get(0);
      assertThat(finding.switches()).containsExactly(switchId);
      assertThat(finding.next()).isEqualTo(next);
      assertThat(finding.cause()).isEqualTo(cause);
      expectLosses(finding, nodes.truth());
      expectRetransmissions(report, nodes.truth());
    }
  }

  @Test
  void measuresTheIntervalsOfAPeriodicFault() throws Exception {
    try (TracedNodes nodes = new TracedNodes(folder, "periodic-bug")) {
      Periodicity intervals = losses(nodes).findings().get(0).intervals();
      assertThat(intervals.meanNs()).isBetween(99e6, 101e6);
      // The paper's Figure 2 (Confluo, NSDI'19) states less than 1 ms.
      assertThat(intervals.deviationNs()).isLessThan(1e6);
    }
  }

  @Test
  void findsLossesAtSeveralSwitches() throws Exception {
    try (TracedNodes nodes = new TracedNodes(folder, "several-switches")) {
      List<Finding> findings = losses(nodes).findings();
      assertThat(findings.stream().map(Finding::switches))
          .containsExactly(List.of(102), List.of(202));
      assertThat(findings.stream().map(Finding::next)).containsExactly(202, 300);
      assertThat(findings.stream().map(Finding::cause)).containsOnly(Cause.YIELDS_TO_PRIORITY);
      // At each switch, the flow competes with a different urgent flow.
      assertThat(urgent(findings.get(0))).containsExactly("10.2.1.2");
      assertThat(urgent(findings.get(1))).containsExactly("10.3.0.2");
      findings.forEach(finding -> expectLosses(finding, nodes.truth()));
    }
  }

  private static List<String> urgent(Finding finding) {
    return finding.flows().stream()
        .filter(flow -> flow.priority() > 0)
        .map(flow -> flow.flow().dstIp())
        .toList();
  }

  @Test
  void aHealthyNetworkHasNoFault() throws Exception {
    try (TracedNodes nodes = new TracedNodes(folder, "quiet")) {
      LossReport report = losses(nodes);
      assertThat(report.retransmissions()).isEmpty();
      assertThat(report.findings()).isEmpty();
      assertThat(report.verdict()).containsExactly("no fault: no flow retransmits");
      assertThat(nodes.drill().watches().alertsAfter(0)).isEmpty();
      PathReport path =
          new DiagnosisService(nodes.drill()).path("", List.of(203L), List.of(202L), 0, 0);
      assertThat(path.violations()).isEmpty();
      assertThat(path.packets()).isPositive();
    }
  }

  @Test
  void findsPacketsOnAForbiddenPath() throws Exception {
    try (TracedNodes nodes = new TracedNodes(folder, "detour")) {
      nodes.play();
      DiagnosisService diagnosis = new DiagnosisService(nodes.drill());
      Map<List<Integer>, Long> ways = new HashMap<>();
      JsonNode flow = nodes.truth().path("flows").get(0);
      flow.path("paths").forEach(way -> ways.put(switches(way), way.path("segments").asLong()));
      assertThat(ways).hasSize(2);
      for (List<Long> rule : List.of(List.of(203L), List.of(302L, 201L))) {
        PathReport report = diagnosis.path("payload_bytes > 0", rule, List.of(), 0, 0);
        assertThat(report.violations()).hasSize(1);
        Violation violation = report.violations().get(0);
        assertThat(violation.flow().text())
            .isEqualTo(flow.path("source").asText() + " > " + flow.path("destination").asText());
        assertThat(violation.packets()).isEqualTo(flow.path("segments").asLong());
        assertThat(violation.violating()).isEqualTo(ways.get(List.of(102, 203, 302, 201, 100)));
      }
      assertThat(diagnosis.path("", List.of(), List.of(102L), 0, 0).violations()).isEmpty();
      assertThatThrownBy(() -> diagnosis.path("", List.of(), List.of(), 0, 0))
          .isInstanceOf(DrillException.class)
          .hasMessageContaining("no rule");
    }
  }

  @ParameterizedTest
  @CsvSource({"outcast-small, true", "incast, false"})
  void detectsOutcastFlows(String experiment, boolean expected) throws Exception {
    try (TracedNodes nodes = new TracedNodes(folder, experiment)) {
      nodes.play();
      OutcastReport report =
          new DiagnosisService(nodes.drill())
              .outcast("10.0.0.2", 0, 2 * SECOND_NS, SECOND_NS / 100);
      assertThat(report.outcast()).isEqualTo(expected);
      assertThat(report.steps()).hasSize(200);
      Map<String, Long> segments = new HashMap<>();
      report.flows().forEach(flow -> segments.put(flow.flow().text(), flow.segments()));
      Map<String, Long> links = new HashMap<>();
      Map<String, Long> expectedSegments = new HashMap<>();
      for (JsonNode flow : nodes.truth().path("flows")) {
        expectedSegments.put(name(flow), flow.path("segments").asLong());
        flow.path("paths").forEach(path -> addLinks(path, links));
      }
      assertThat(segments).isEqualTo(expectedSegments);
      Map<String, Long> linkSegments = new HashMap<>();
      for (Link link : report.links()) {
        linkSegments.put(link.from() + ">" + link.to(), link.segments());
      }
      assertThat(linkSegments).isEqualTo(links);
    }
  }

  private static void addLinks(JsonNode path, Map<String, Long> links) {
    List<Integer> way = switches(path);
    for (int i = 0; i < way.size(); i++) {
      int next = i + 1 < way.size() ? way.get(i + 1) : 0;
      links.merge(way.get(i) + ">" + next, path.path("segments").asLong(), Long::sum);
    }
  }

  @Test
  void aLossDiagnosisRequiresTracking() throws Exception {
    try (TracedNodes nodes = new TracedNodes(folder, "quiet")) {
      assertThatThrownBy(() -> new DiagnosisService(nodes.drill()).losses(0, 0))
          .isInstanceOf(DrillException.class)
          .hasMessageContaining("tapline diagnose track");
    }
  }

  /** Starts loss tracking, sends the packets, and returns the diagnosis. */
  private static LossReport losses(TracedNodes nodes) throws Exception {
    DiagnosisService diagnosis = new DiagnosisService(nodes.drill());
    String watch = diagnosis.track(0, 0);
    assertThat(diagnosis.track(0, 0)).isEqualTo(watch);
    nodes.play();
    return diagnosis.losses(0, 0);
  }

  private static List<Integer> switches(JsonNode path) {
    return path.path("switches").valueStream().map(JsonNode::asInt).toList();
  }

  private static String name(JsonNode flow) {
    return flow.path("source").asText() + " > " + flow.path("destination").asText();
  }

  /**
   * Expects that no flow is diagnosed with more losses at the switch than it had, and that the
   * diagnosis explains most losses.
   */
  private static void expectLosses(Finding finding, JsonNode truth) {
    Map<String, Long> linkSegments = new HashMap<>();
    for (Contender flow : finding.flows()) {
      if (flow.losses() > 0) {
        linkSegments.put(flow.flow().text(), flow.losses());
      }
    }
    long all = 0;
    for (JsonNode flow : truth.path("flows")) {
      long lost = 0;
      for (JsonNode drop : flow.path("drops")) {
        if (drop.path("switch").asInt() == finding.switches().get(0)) {
          lost = drop.path("segments").asLong();
        }
      }
      assertThat(linkSegments.getOrDefault(name(flow), 0L)).as(name(flow)).isBetween(0L, lost);
      all += lost;
    }
    assertThat(finding.losses()).isBetween((long) (MOSTLY * all), all);
  }

  private static void expectRetransmissions(LossReport report, JsonNode truth) {
    Map<String, Long> linkSegments = new HashMap<>();
    for (Retransmitted flow : report.retransmissions()) {
      linkSegments.put(flow.flow().text(), flow.retransmissions());
    }
    long all = 0;
    for (JsonNode flow : truth.path("flows")) {
      long sent = flow.path("retransmitted").asLong();
      assertThat(linkSegments.getOrDefault(name(flow), 0L)).as(name(flow)).isBetween(0L, sent);
      all += sent;
    }
    assertThat(linkSegments.values().stream().mapToLong(Long::longValue).sum())
        .isBetween((long) (MOSTLY * all), all);
  }
}
