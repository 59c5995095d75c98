package io.tapline.control.cli.results;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.compiler.Inventory;
import io.tapline.control.query.WindowResult;
import java.util.List;
import org.junit.jupiter.api.Test;

class ResultTablesTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  @Test
  void alertsShowTheirStartOrEnd() throws Exception {
    JsonNode plan =
        MAPPER.readTree(
            """
            {"processors":[{"name":"trigger","aggregate":"SUM","window":{"size":"1s","slide":"1s"},
             "value":{"field":"bytes","unit":"bytes"}}]}""");
    JsonNode rows =
        MAPPER.readTree(
            """
            [{"key":{"src_ip":"10.0.0.7"},"value":2048,"low":2048,"high":2048,
              "alert":{"id":"a","state":"raised","severity":"critical","since_ns":1795204790000000000}},
             {"key":{"src_ip":"10.0.0.8"},"value":null,"low":null,"high":null,
              "alert":{"id":"b","state":"cleared","severity":"critical","since_ns":1795204780000000000}}]""");
    WindowResult window =
        new WindowResult(
            "1-1",
            0,
            "trigger",
            1795204789000000000L,
            1795204790000000000L,
            rows,
            MAPPER.createObjectNode());
    String table =
        new ResultTables(plan, HostNames.withInventory(Inventory.empty()), 0).render(window);
    assertThat(table.lines().skip(1).limit(3).map(line -> line.strip().replaceAll(" {2,}", " | ")))
        .containsExactly(
            "alert | severity | since | src_ip | sum bytes",
            "raised | critical | 2026-11-20 19:59:50 | 10.0.0.7 | 2,048",
            "cleared | critical | 2026-11-20 19:59:40 | 10.0.0.8 | -");
  }

  @Test
  void missingValuesAreDashesAndUnansweredRequestsHaveAColumn() throws Exception {
    String plan =
        """
        {"processors":[{"name":"diff-group","aggregate":"DISTRIBUTION","window":{"slide":"1s"},
         "value":{"field":"response_time_ns","unit":"ns"}}]}""";
    String none = "\"p50\":null,\"p95\":null,\"p99\":null,\"min\":null,\"max\":null";
    String rows =
        """
        [{"key":{"status":200},"value":102000000.0,"low":102000000.0,"high":102000000.0,
          "unanswered":20,"half_seen":0,"distribution":{"count":1200,"p50":102000000,
          "p95":102000000,"p99":103000000,"min":101000000,"max":103000000}},
         {"key":{"status":null},"value":null,"low":null,"high":null,"unanswered":4,"half_seen":0,
          "absent":5,"distribution":{"count":0,%s}}]"""
            .formatted(none);
    assertThat(cells(plan, rows))
        .containsExactly(
            "status | count | mean ms | p50 ms | p95 ms | p99 ms | min ms | max ms | unanswered | absent",
            "200 | 1,200 | 102.000 | 102.000 | 102.000 | 103.000 | 101.000 | 103.000 | 20 | -",
            "- | 0 | - | - | - | - | - | - | 4 | 5");
    assertThat(cells(plan, rows.replaceAll("(unanswered|absent)\":[0-9]+", "$1\":0")))
        .first()
        .asString()
        .endsWith("max ms");
  }

  @Test
  void detailsOfAnAggregateHaveColumnsInTheUnitOfTheValues() throws Exception {
    String plan =
        """
        {"processors":[{"name":"range","aggregate":"RANGE","window":{"slide":"1s"},
         "value":{"field":"response_time_ns","unit":"ns"}}]}""";
    String rows =
        """
        [{"key":{"status":200},"value":2000000,"low":2000000,"high":2000000,
          "details":{"count":1200,"least":1000000,"most":3000000,"histogram":[]}},
         {"key":{"status":500},"value":null,"low":null,"high":null}]""";
    assertThat(cells(plan, rows))
        .containsExactly(
            "status | range response_time ms | count | least ms | most ms",
            "200 | 2.000 | 1,200 | 1.000 | 3.000",
            "500 | - | - | - | -");
  }

  @Test
  void aCountColumnIsNamedByItsCondition() throws Exception {
    String plan =
        """
        {"processors":[{"name":"top-k","aggregate":"%s","window":{"size":"1s","slide":"1s"},
         "value":{"condition_text":"status >= 500"}}]}""";
    String rows = "[{\"rank\":1,\"key\":{\"url\":\"/a\"},\"value\":3,\"low\":3,\"high\":3}]";
    assertThat(cells(plan.formatted("SUM"), rows).get(0))
        .isEqualTo("rank | url | count status >= 500");
    assertThat(cells(plan.formatted("AVG"), rows).get(0))
        .isEqualTo("rank | url | share status >= 500");
  }

  /** Returns the table's lines, with cells separated by bars. */
  private static List<String> cells(String plan, String rows) throws Exception {
    WindowResult window =
        new WindowResult(
            "1-1", 0, "x", 0, 1_000_000_000L, MAPPER.readTree(rows), MAPPER.createObjectNode());
    String table =
        new ResultTables(MAPPER.readTree(plan), HostNames.withInventory(Inventory.empty()), 0)
            .render(window);
    List<String> lines =
        table.lines().map(line -> line.strip().replaceAll(" {2,}", " | ")).toList();
    return lines.subList(1, lines.size() - 1);
  }
}
