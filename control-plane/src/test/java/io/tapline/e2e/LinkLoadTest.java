package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests the load of a tap's link at intervals that the query chooses, as measured by queries and by
 * {@code tapline parse}.
 */
class LinkLoadTest {
  private static final long SECOND_NS = 1_000_000_000L;
  private static final String TAP =
      "edge1:eth2=" + Cli.root().resolve("testbed/captures/http_small.pcap.zst");
  private static final String BY_LINK = "by=%s, group=(switch, port), w=1s";

  private static List<JsonNode> parse(String parser) {
    return Cli.run("parse", "--parser", parser, "--tap", TAP, "--json").expectSuccess().json();
  }

  private static List<JsonNode> run(String every) {
    String query =
        "PARSE link_load(link=1000000000, every=%s) FROM * TO * LIMIT 90s SAMPLE * PROCESS (group-max: %s), (group-sum: %s)"
            .formatted(every, BY_LINK.formatted("share"), BY_LINK.formatted("samples"));
    return Cli.run("run", query, "--tap", TAP, "--json").expectSuccess().json();
  }

  /** Returns the sum of a processor's values for each second, by the start of the window. */
  private static Map<Long, Double> values(List<JsonNode> rows, String processor) {
    return rows.stream()
        .filter(row -> row.get("processor").asText().equals(processor))
        .peek(row -> assertThat(row.at("/key/port").asText()).isEqualTo("eth2"))
        .collect(
            Collectors.toMap(
                row -> row.get("window_start_ns").asLong() / SECOND_NS,
                row -> row.get("value").asDouble(),
                Double::sum,
                TreeMap::new));
  }

  @ParameterizedTest
  @CsvSource({"100us, 100000", "10ms, 10000000"})
  void windowsAggregateTheIntervalsOfTheQuery(String every, long everyNs) {
    List<JsonNode> tuples =
        parse("link_load(link=1000000000,every=%s),http_get".formatted(every)).stream()
            .filter(tuple -> tuple.get("parser").asText().equals("link_load"))
            .toList();
    assertThat(tuples)
        .allSatisfy(t -> assertThat(t.get("interval_ns").asLong()).isBetween(1L, everyNs));
    Map<Long, Double> highest = new TreeMap<>();
    Map<Long, Double> samples = new TreeMap<>();
    for (JsonNode tuple : tuples) {
      long second = tuple.get("time_ns").asLong() / SECOND_NS;
      highest.merge(second, tuple.get("share").asDouble(), Math::max);
      samples.merge(second, tuple.get("samples").asDouble(), Double::sum);
    }
    assertThat(tuples.size()).isGreaterThan(highest.size());
    List<JsonNode> rows = run(every);
    assertThat(values(rows, "group-max")).isEqualTo(highest);
    assertThat(values(rows, "group-sum")).isEqualTo(samples);
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "link_load(every=99us) -> argument 'every' can't be '99us': expected a duration, 100us to 10s, in steps of 1us",
        "link_load(evry=1ms) -> did you mean 'every'?",
        "link_load(every=1ms,link=3 -> parser 'link_load(every=1ms,link=3' is not NAME or NAME(ARGUMENT=VALUE,…)",
        "http_get(every=1ms) -> parser 'http_get': it has no arguments",
      })
  void wrongArgumentsOfParseAreErrors(String parser, String message) {
    Cli.Result result = Cli.run("parse", "--parser", parser, "--tap", TAP);
    assertThat(result.exitCode()).isEqualTo(2);
    assertThat(result.stderr()).contains(message);
  }

  @Test
  void theLoadsOfAServersQueryAreThoseOfTheLink() throws Exception {
    try (Server server = Server.start("--tap", TAP)) {
      Cli.Result previousResult = Cli.run("links", "--server", server.url()).expectSuccess();
      assertThat(previousResult.stdout()).startsWith("no link has been measured");
      String id =
          server.submit(
              "PARSE link_load(link=1000000000) FROM * TO * LIMIT 90s SAMPLE * PROCESS (group-max: %s)"
                  .formatted(BY_LINK.formatted("share")));
      server.awaitState(id, "finished");
      List<JsonNode> links =
          Cli.run("links", "--server", server.url(), "--json").expectSuccess().json();
      assertThat(links).hasSize(1);
      assertThat(links.get(0).path("switch").asText()).isEqualTo("edge1");
      assertThat(links.get(0).path("port").asText()).isEqualTo("eth2");
      JsonNode load = links.get(0).path("loads").get(0);
      List<JsonNode> rows = server.rows(id);
      JsonNode last = rows.get(rows.size() - 1);
      assertThat(load.path("value").asDouble())
          .isPositive()
          .isEqualTo(last.get("value").asDouble());
      assertThat(load.path("window_end_ns").asLong()).isEqualTo(last.get("window_end_ns").asLong());
      assertThat(load.path("state").asText()).isEqualTo("finished");
      assertThat(Cli.run("links", "--server", server.url()).expectSuccess().stdout())
          .contains("edge1", "eth2", id + " (ended)");
    }
  }

  @Test
  void theIntervalIsDescribed() {
    assertThat(Cli.run("parsers", "link_load").expectSuccess().stdout())
        .contains("every", "a duration from 100us to 10s, in steps of 1us")
        .contains("It emits once per 1,000 ms or once per every=, so windows can't be shorter.");
  }
}
