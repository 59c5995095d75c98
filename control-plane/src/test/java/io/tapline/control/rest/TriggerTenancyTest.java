package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.access.Token;
import io.tapline.control.access.TokenFile;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.NodeProcess;
import io.tapline.control.testing.Await;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests watches of two teams on one node when one team's watch has 100,000 groups in a second. The
 * other team must get all of its alerts, and none of the first team's.
 */
class TriggerTenancyTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(120);
  private static final int GROUPS = 100_000;
  private static final int PORTS = 20;
  private static final int PACKETS_PER_PORT = 50;
  private static final int FRAME_BYTES = 60;
  private static final int BEGIN_S = 1_795_204_800;
  private static final int FLOOD_ADDRESS = 0x0a00_0000;
  private static final int FLOOD_TARGET = 0x0aff_0001;
  private static final int QUIET_ADDRESS = 0xc000_0201;
  private static final int QUIET_TARGET = 0xc000_0202;
  private static final String QUIET = Token.newSecret();
  private static final String FLOOD = Token.newSecret();

  @TempDir Path folder;
  private Path pipe;
  private NodeProcess node;
  private DrillService drill;
  private StoredQueries stored;

  @BeforeEach
  void start() throws Exception {
    pipe = folder.resolve("packets");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    node = NodeProcess.launch(folder, "h1", pipe);
    drill = new DrillService(List.of(node.address()));
    Await.until("alerts are received", TIMEOUT, () -> drill.watches().hears("h1"));
    Path file = folder.resolve("tokens.yaml");
    String entry = "  - {tenant: %s, role: analyst, subnets: [%s], sha256: %s}\n";
    Files.writeString(
        file,
        "tokens:\n"
            + entry.formatted("quiet", "192.0.2.0/24", Token.hash(QUIET))
            + entry.formatted("flood", "10.0.0.0/8", Token.hash(FLOOD))
            + "tenants:\n  quiet: {requests_per_second: 10000}\n"
            + "  flood: {requests_per_second: 10000}\n");
    stored = new StoredQueries(null, "", RestOptions.loopback(0).with(new TokenFile(file)), drill);
  }

  @AfterEach
  void stop() throws Exception {
    stored.close();
    drill.close();
    node.kill();
  }

  private HttpResponse<String> call(String token, String method, String path, String body)
      throws Exception {
    return stored.rest.send(
        stored
            .rest
            .request(path)
            .header("Authorization", "Bearer " + token)
            .header("Content-Type", "application/json")
            .method(method, BodyPublishers.ofString(body)));
  }

  private String added(String token, String filter, String group, int threshold) throws Exception {
    String watch =
        "{\"filter\": \"%s\", \"group_by\": [\"%s\"], \"when\": \"COUNT > %d\"}"
            .formatted(filter, group, threshold);
    HttpResponse<String> response = call(token, "POST", "/api/v1/watches", watch);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(201);
    return Rest.json(response).path("id").asText();
  }

  private List<JsonNode> alerts(String token) throws Exception {
    List<JsonNode> alerts = new ArrayList<>();
    Rest.json(call(token, "GET", "/api/v1/alerts", "")).path("alerts").forEach(alerts::add);
    return alerts;
  }

  private JsonNode evaluation(String token, String watch) throws Exception {
    for (JsonNode watchJson :
        Rest.json(call(token, "GET", "/api/v1/watches", "")).path("watches")) {
      if (watchJson.path("id").asText().equals(watch)) {
        return watchJson.path("evaluation").path(0);
      }
    }
    throw new AssertionError("no watch " + watch);
  }

  /**
   * Sends the packets of one second: one for each group of the flood, interleaved with the quiet
   * team's packets.
   */
  private void send() throws IOException {
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(pipe), 1 << 16)) {
      ByteBuffer header = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN);
      header.putInt(0xa1b2c3d4).putShort((short) 2).putShort((short) 4).putLong(0);
      out.write(header.putInt(65_535).putInt(1).array());
      int gap = GROUPS / (PORTS * PACKETS_PER_PORT);
      for (int i = 0; i < GROUPS; i++) {
        int micros = i * 9;
        out.write(packet(micros, FLOOD_ADDRESS + i, FLOOD_TARGET, 9));
        if (i % gap == 0) {
          out.write(packet(micros, QUIET_ADDRESS, QUIET_TARGET, 7000 + i / gap % PORTS));
        }
      }
    }
  }

  private static byte[] packet(int micros, int source, int target, int port) {
    ByteBuffer record = ByteBuffer.allocate(16 + FRAME_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    record.putInt(BEGIN_S).putInt(micros).putInt(FRAME_BYTES).putInt(FRAME_BYTES);
    record.order(ByteOrder.BIG_ENDIAN).position(16 + 12);
    record.putShort((short) 0x0800);
    record.putInt(0x4500_0000 | FRAME_BYTES - 14).putInt(0).putInt(0x4011_0000);
    record.putInt(source).putInt(target);
    record.putShort((short) 4000).putShort((short) port).putShort((short) (FRAME_BYTES - 34));
    return record.array();
  }

  @Test
  void groupsOfOneTeamAffectNoAlertOfAnother() throws Exception {
    String flooded = added(FLOOD, "", "src_ip", 0);
    String spying = added(FLOOD, "dst_ip == 192.0.2.2", "dst_port", 0);
    String quiet = added(QUIET, "", "dst_port", PACKETS_PER_PORT - 10);
    send();
    Await.until(
        "all packets are processed",
        TIMEOUT,
        () -> drill.states().get(0).description().getCounters().getCaptureEnded());
    assertThat(drill.states().get(0).description().getCounters().getRows())
        .isEqualTo(GROUPS + PORTS * PACKETS_PER_PORT);
    Await.until("the quiet team is alerted", TIMEOUT, () -> alerts(QUIET).size() >= PORTS);
    Await.until("the flooding team is, too", TIMEOUT, () -> !alerts(FLOOD).isEmpty());
    List<JsonNode> own = alerts(QUIET);
    assertThat(own).allMatch(alert -> alert.path("watch").asText().equals(quiet));
    List<String> ports = new ArrayList<>();
    for (int port = 0; port < PORTS; port++) {
      ports.add(Integer.toString(7000 + port));
    }
    assertThat(own.stream().map(alert -> alert.at("/key/dst_port").asText()))
        .as("one alert for each port")
        .containsExactlyInAnyOrderElementsOf(ports);
    assertThat(own)
        .allMatch(alert -> alert.path("value").asInt() > PACKETS_PER_PORT - 10)
        .allMatch(alert -> alert.path("value").asInt() <= PACKETS_PER_PORT);
    assertThat(evaluation(QUIET, quiet).path("missed_alerts").asLong()).isZero();
    assertThat(alerts(FLOOD))
        .as("no packet of the other subnet")
        .allMatch(alert -> alert.path("watch").asText().equals(flooded))
        .allMatch(alert -> alert.at("/key/src_ip").asText().startsWith("10."));
    assertThat(evaluation(FLOOD, spying).path("evaluates").asBoolean()).isTrue();
  }

  @Test
  void triggersOnOtherSubnetsAreRefused() throws Exception {
    String query =
        "PARSE http_get FROM * TO %s LIMIT 90s SAMPLE * PROCESS "
            + "(trigger: when=\"count > 100\", group=url, every=1s)";
    for (String destination : List.of("192.0.2.2", "10.0.0.0/7", "*")) {
      String body =
          "{\"query\": \"%s\"}".formatted(query.formatted(destination).replace("\"", "\\\""));
      JsonNode problem =
          Rest.problem(call(FLOOD, "POST", "/api/v1/explain", body), 400, "query-rejected");
      assertThat(problem.toString()).as(destination).contains("\"forbidden\"");
    }
    String own =
        "{\"query\": \"%s\"}".formatted(query.formatted("10.1.0.0/16").replace("\"", "\\\""));
    HttpResponse<String> explained = call(FLOOD, "POST", "/api/v1/explain", own);
    assertThat(explained.statusCode()).as(explained.body()).isEqualTo(200);
  }
}
