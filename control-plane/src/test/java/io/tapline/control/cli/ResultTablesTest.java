package io.tapline.control.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.compiler.Inventory;
import io.tapline.control.query.WindowResult;
import org.junit.jupiter.api.Test;

class ResultTablesTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  @Test
  void alertsSayWhetherTheyBeginOrEndAndSinceWhen() throws Exception {
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
    String table = new ResultTables(plan, HostNames.beside(Inventory.empty()), 0).render(window);
    assertThat(table.lines().skip(1).limit(3).map(line -> line.strip().replaceAll(" {2,}", " | ")))
        .containsExactly(
            "alert | severity | since | src_ip | sum bytes",
            "raised | critical | 2026-11-20 19:59:50 | 10.0.0.7 | 2,048",
            "cleared | critical | 2026-11-20 19:59:40 | 10.0.0.8 | -");
  }
}
