package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** Tests triggers in the monitor that group by networks or flows and count selected packets. */
class NetworkTriggersTest {
  // Overlapping windows are tested only at their end, so the reported values are those of whole
  // windows.
  private static final String TRIGGER =
      "(trigger: when=\"sum(bytes) > 0\", every=450ms, w=900ms, %s)";
  private static final String QUERY =
      "PARSE tcp_pkt_size FROM * TO * LIMIT 90s SAMPLE * PROCESS "
          + TRIGGER.formatted("group=src_ip/24, only=\"dst_port = 80\"")
          + ", "
          + TRIGGER.formatted("group=src_ip, only=\"dst_port = 80\"")
          + ", "
          + TRIGGER.formatted("group=flow, only=\"dst_port = 81\"");

  private static List<JsonNode> raised() {
    String capture = Cli.root().resolve("testbed/captures/http_small.pcap.zst").toString();
    return Cli.run("run", QUERY, "--pcap", capture, "--json").expectSuccess().json().stream()
        .filter(row -> row.at("/alert/state").asText().equals("raised"))
        .toList();
  }

  private static List<JsonNode> those(List<JsonNode> rows, Predicate<JsonNode> wanted) {
    return rows.stream().filter(wanted).toList();
  }

  @Test
  void aNetworkHasTheBytesOfItsAddresses() {
    List<JsonNode> rows = raised();
    List<JsonNode> flows = those(rows, row -> row.get("key").has("dst_port"));
    assertThat(flows)
        .isNotEmpty()
        .allSatisfy(row -> assertThat(row.at("/key/dst_port").asInt()).isEqualTo(81));
    JsonNode network = those(rows, row -> row.at("/key/src_ip").asText().equals("10.1.0.0")).get(0);
    List<JsonNode> addresses =
        those(
            rows,
            row ->
                row.get("key").size() == 1
                    && !row.get("key").equals(network.get("key"))
                    && row.get("window_start_ns").equals(network.get("window_start_ns")));
    assertThat(addresses).hasSizeGreaterThan(1);
    assertThat(addresses.stream().mapToLong(row -> row.get("value").asLong()).sum())
        .isEqualTo(network.get("value").asLong())
        .isPositive();
  }
}
