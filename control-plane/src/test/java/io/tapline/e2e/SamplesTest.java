package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests queries for the headers from a switch's taps. A real node has stored them from two
 * captures.
 */
class SamplesTest {
  private static final long SECONDS = 60;
  private static final long PACKETS = 364 + 540;
  private static final Path CAPTURES = Cli.root().resolve("testbed/captures");

  @TempDir Path folder;

  private Process node(String address) throws Exception {
    return new ProcessBuilder(
            Cli.root().resolve("build/bin/tapline-multilog").toString(),
            "--node",
            "collector",
            "--listen",
            address,
            "--memory-mib",
            "64",
            "--tap",
            "edge1:eth2=" + CAPTURES.resolve("http_small.pcap.zst"),
            "--tap",
            "edge2:1:departures=" + CAPTURES.resolve("hanging_small.pcap.zst"))
        .redirectError(folder.resolve("node.log").toFile())
        .start();
  }

  private static void awaitPackets(Server server) throws Exception {
    long end = System.nanoTime() + SECONDS * 1_000_000_000L;
    long packets = 0;
    while (packets < PACKETS && System.nanoTime() < end) {
      Thread.sleep(100);
      packets = Cli.parse(server.get("/api/v1/nodes").body()).at("/nodes/0/packets").asLong();
    }
    assertThat(packets).isEqualTo(PACKETS);
  }

  private static List<JsonNode> samples(Server server, String... options) {
    Cli.Result result = Cli.run(command(server, options));
    return result.expectSuccess().json();
  }

  private static String[] command(Server server, String... options) {
    List<String> all = new ArrayList<>(List.of("samples", "--server", server.url()));
    all.addAll(List.of(options));
    return all.toArray(String[]::new);
  }

  @Test
  void aSwitchsTapsAreSelectedAndBecomeInterfaces() throws Exception {
    String address = "unix:" + folder.resolve("node.sock");
    Process node = node(address);
    try (Server server = Server.start("--multilog", "collector=" + address)) {
      awaitPackets(server);
      String day = "2026-11-25T00:00:00Z";
      assertThat(samples(server, "--switch", "edge1", "--to", day, "--last", "200h", "--json"))
          .hasSize(364)
          .allMatch(row -> row.path("switch").asText().equals("edge1"))
          .allMatch(row -> row.path("port").asText().equals("eth2"));
      assertThat(
              samples(
                  server,
                  "--switch",
                  "edge2",
                  "--port",
                  "1",
                  "--side",
                  "departures",
                  "--to",
                  day,
                  "--last",
                  "200h",
                  "--json"))
          .hasSize(540);
      assertThat(
              samples(
                  server,
                  "--switch",
                  "edge2",
                  "--side",
                  "arrivals",
                  "--to",
                  day,
                  "--last",
                  "200h",
                  "--json"))
          .isEmpty();
      assertThat(
              samples(
                  server,
                  "--switch",
                  "edge2",
                  "--to",
                  "2026-11-24T04:35:50Z",
                  "--last",
                  "3s",
                  "--json"))
          .as("the last seconds before a time")
          .hasSizeBetween(1, 539);
      assertThat(samples(server, "--switch", "edge1", "--json")).as("of the last second").isEmpty();
      assertThat(
              Cli.run(
                      "drill",
                      "",
                      "--aggregate",
                      "COUNT",
                      "--group-by",
                      "switch",
                      "--json",
                      "--server",
                      server.url())
                  .expectSuccess()
                  .json())
          .extracting(group -> group.at("/key/switch").asText() + " " + group.path("value").asInt())
          .containsExactlyInAnyOrder("edge1 364", "edge2 540");
      Path file = folder.resolve("edge2.pcapng");
      Cli.run(
              command(
                  server,
                  "--switch",
                  "edge2",
                  "--to",
                  day,
                  "--last",
                  "200h",
                  "--pcapng",
                  file.toString()))
          .expectSuccess();
      String bytes = Files.readString(file, StandardCharsets.ISO_8859_1);
      assertThat(bytes).contains("edge2:1:departures").doesNotContain("edge1");
    } finally {
      node.destroy();
      node.waitFor();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "--switch=a:b -> --switch a:b: a name must have 1 to 24 characters",
        "--switch=a --side=both -> --side both is neither arrivals nor departures",
        "--switch=a --last=soon -> --last soon is not a duration",
        "--port=1 -> Missing required option",
      })
  void wrongOptionsAreErrors(String options, String message) {
    List<String> all = new ArrayList<>(List.of("samples"));
    all.addAll(List.of(options.split(" ")));
    Cli.Result result = Cli.run(all.toArray(String[]::new));
    assertThat(result.exitCode()).isEqualTo(2);
    assertThat(result.stderr()).contains(message);
  }
}
