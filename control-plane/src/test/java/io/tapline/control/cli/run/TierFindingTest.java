package io.tapline.control.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.compiler.Inventory;
import io.tapline.control.cli.results.HostNames;
import org.junit.jupiter.api.Test;

class TierFindingTest {
  private static final HostNames NAMES =
      HostNames.instead(
          Inventory.fromYaml(
              "hosts: {proxy: 10.0.0.1, web1: 10.0.0.2, web2: 10.0.0.3, web3: 10.0.0.4, db: 10.0.0.5}"));

  private final ArrayNode rows = JsonNodeFactory.instance.arrayNode();

  private TierFindingTest tier(String caller, String callee, double meanMs, long count) {
    ObjectNode row = rows.addObject();
    row.putObject("key").put("src_ip", caller).put("dst_ip", callee);
    row.put("value", meanMs * 1e6);
    row.putObject("distribution").put("count", count);
    return this;
  }

  private ObjectNode finding() {
    return new TierFinding(rows, NAMES).json();
  }

  @Test
  void namesTheSlowestReplicaAndItsExtraConnections() {
    tier("10.0.0.1", "10.0.0.2", 2, 100).tier("10.0.0.1", "10.0.0.3", 12, 100);
    tier("10.0.0.1", "10.0.0.4", 3, 100);
    tier("10.0.0.2", "10.0.0.5", 1, 20).tier("10.0.0.3", "10.0.0.5", 1, 90);
    ObjectNode finding = finding();
    assertThat(finding.path("server").asText()).isEqualTo("web2");
    assertThat(finding.path("peer").asText()).isEqualTo("web1");
    assertThat(finding.path("ratio").asDouble()).isEqualTo(6);
    assertThat(finding.path("finding").asText())
        .contains(
            "to web2 take 6.0 times as long as those to web1", "connects to db 4.5 times as often");
  }

  @Test
  void equalReplicasGiveNoFinding() {
    tier("10.0.0.1", "10.0.0.2", 2, 100).tier("10.0.0.1", "10.0.0.3", 2.8, 100);
    assertThat(finding().has("server")).isFalse();
    assertThat(finding().path("finding").asText()).startsWith("no server's connections");
  }

  @Test
  void differentRolesAreNotCompared() {
    tier("10.0.0.1", "10.0.0.2", 2, 100).tier("10.0.0.1", "10.0.0.5", 90, 100);
    assertThat(finding().has("server")).isFalse();
  }

  @Test
  void noRowsGiveNoFinding() {
    assertThat(finding().has("server")).isFalse();
  }
}
