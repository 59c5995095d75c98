package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.diagnose.TracedNodes;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compares the output of {@code tapline diagnose}, through a real server and real nodes, with
 * ns-3's ground truth for its traces.
 */
class DiagnoseTest {
  /**
   * Minimum share of losses that must be detected. The loss of a retransmission, or of a flow's
   * last packet, is undetectable.
   */
  private static final double MOSTLY = 0.7;

  private static final String VICTIM = "10.1.0.2:49153 > 10.0.0.2:5000";
  private static final String URGENT = "10.1.0.3:49153 > 10.2.0.2:5001";

  @TempDir Path folder;
  private Server server;

  @Test
  void eachDiagnosisMatchesTheScenario() throws Exception {
    try (TracedNodes nodes = new TracedNodes(folder, "unequal-priority")) {
      List<String> arguments = new ArrayList<>();
      nodes.addresses().forEach(address -> arguments.addAll(List.of("--multilog", address)));
      server = Server.start(arguments.toArray(String[]::new));
      Cli.Result early = diagnose("loss");
      assertThat(early.exitCode()).isEqualTo(1);
      assertThat(early.stderr()).contains("tapline diagnose track");
      nodes.awaitWatch(track());
      nodes.play();
      losses(nodes.truth());
      ways(nodes.truth());
      assertThat(diagnose("path").exitCode()).as("without a rule").isEqualTo(2);
      assertThat(diagnose("outcast", "h0").exitCode()).as("no address").isEqualTo(1);
    }
    // The next network also has the first node, but not the second one. Tracking restarts.
    try (TracedNodes nodes = new TracedNodes(folder, "outcast-small")) {
      nodes.awaitWatch(track());
      nodes.play();
      outcast(nodes.truth());
    }
  }

  @AfterEach
  void stop() {
    if (server != null) {
      server.close();
    }
  }

  private Cli.Result diagnose(String... arguments) {
    List<String> all = new ArrayList<>(List.of("diagnose"));
    all.addAll(List.of(arguments));
    all.addAll(List.of("--server", server.url()));
    return Cli.run(all.toArray(String[]::new));
  }

  private JsonNode report(String... arguments) {
    List<String> all = new ArrayList<>(List.of(arguments));
    all.add("--json");
    return diagnose(all.toArray(String[]::new)).expectSuccess().json().get(0);
  }

  private String track() {
    return diagnose("track").expectSuccess().stdout().strip();
  }

  private void losses(JsonNode truth) {
    JsonNode flow = truth.path("flows").get(0);
    JsonNode report = report("loss");
    assertThat(report.path("nodes")).hasSize(2);
    assertThat(report.path("findings")).hasSize(1);
    JsonNode finding = report.path("findings").get(0);
    assertThat(finding.path("switches").get(0).asInt())
        .isEqualTo(flow.path("drops").get(0).path("switch").asInt());
    assertThat(finding.path("cause").asText()).isEqualTo("YIELDS_TO_PRIORITY");
    long dropped = flow.path("drops").get(0).path("segments").asLong();
    assertThat(finding.path("losses").asLong()).isBetween((long) (MOSTLY * dropped), dropped);
    assertThat(report.path("retransmissions")).hasSize(1);
    JsonNode retransmission = report.path("retransmissions").get(0);
    assertThat(retransmission.path("flow").asText()).isEqualTo(VICTIM);
    assertThat(retransmission.path("segments").asLong()).isEqualTo(flow.path("segments").asLong());
    long sent = flow.path("retransmitted").asLong();
    assertThat(retransmission.path("retransmissions").asLong())
        .isBetween((long) (MOSTLY * sent), sent);

    Cli.Result text = diagnose("loss").expectSuccess();
    assertThat(text.stdout().lines().toList())
        .last()
        .asString()
        .startsWith("switch 102, towards 202, loses ")
        .endsWith("because of flows of higher priority: " + URGENT);
    assertThat(text.stdout()).contains("at 102 towards 202", VICTIM);
    assertThat(text.stderr()).isEmpty();
  }

  private void ways(JsonNode truth) {
    long toFirst = truth.path("flows").get(0).path("segments").asLong();
    long toSecond = truth.path("flows").get(1).path("segments").asLong();
    assertThat(violating(report("path", "payload_bytes > 0", "--avoid", "300")))
        .isEqualTo(Map.of(VICTIM, toFirst, URGENT, toSecond));
    assertThat(violating(report("path", "payload_bytes > 0", "--through", "100")))
        .isEqualTo(Map.of(URGENT, toSecond));
    assertThat(violating(report("path", "payload_bytes > 0", "--avoid", "203"))).isEmpty();
    assertThat(diagnose("path", "--avoid", "203").expectSuccess().stdout())
        .contains("no violation");
    assertThat(diagnose("path", "payload_bytes > 0", "--through", "100").expectSuccess().stdout())
        .contains("violated the rule, from " + URGENT);
  }

  private static Map<String, Long> violating(JsonNode report) {
    Map<String, Long> flows = new HashMap<>();
    for (JsonNode violation : report.path("violations")) {
      flows.put(violation.path("flow").asText(), violation.path("violating").asLong());
    }
    return flows;
  }

  private void outcast(JsonNode truth) throws Exception {
    Path figures = folder.resolve("figures");
    Cli.Result text = diagnose("outcast", "10.0.0.2", "--for", "2s", "--out", figures.toString());
    assertThat(text.expectSuccess().stdout()).contains("TCP outcast: flows over the fewest");
    assertThat(text.stderr()).contains("node h8 is missing: can't be reached");
    assertThat(Files.readAllLines(figures.resolve("figure10a.csv"))).hasSize(201);
    for (String figure : List.of("figure10a.svg", "figure10b.svg", "figure10c.svg")) {
      assertThat(figures.resolve(figure)).content().contains("</svg>");
    }

    JsonNode report = report("outcast", "10.0.0.2", "--for", "2s");
    assertThat(report.path("outcast").asBoolean()).isTrue();
    Map<String, Long> links = new HashMap<>();
    for (JsonNode flow : report.path("flows")) {
      links.put(flow.path("flow").asText(), flow.path("segments").asLong());
    }
    Map<String, Long> sent = new HashMap<>();
    for (JsonNode flow : truth.path("flows")) {
      String name = flow.path("source").asText() + " > " + flow.path("destination").asText();
      sent.put(name, flow.path("segments").asLong());
    }
    assertThat(links).isEqualTo(sent);
  }
}
