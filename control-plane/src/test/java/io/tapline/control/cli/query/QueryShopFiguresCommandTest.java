package io.tapline.control.cli.query;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;

class QueryShopFiguresCommandTest {
  @Test
  void onlyTheLastSnapshotOfAWholeQueryCounts() throws Exception {
    JsonNode rows =
        new ObjectMapper()
            .readTree(
                """
                [{"window_end_ns":5,"value":1},{"window_end_ns":5,"value":2},
                 {"window_end_ns":9,"value":3},{"window_end_ns":9,"value":4}]""");
    assertThat(QueryShopFiguresCommand.ofLastWindow(rows))
        .extracting(row -> row.path("value").asInt())
        .containsExactly(3, 4);
  }
}
