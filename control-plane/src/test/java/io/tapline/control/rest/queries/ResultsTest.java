package io.tapline.control.rest.queries;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.rest.Rest;
import io.tapline.control.rest.StoredQueries;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ResultsTest {
  private static StoredQueries stored;

  @BeforeAll
  static void start() throws Exception {
    stored = new StoredQueries();
    stored.add("q-1", "finished");
    for (int number = 1; number <= 100; number++) {
      stored.window("q-1", number, 0, 3);
      stored.window("q-1", number, 1, 2);
    }
    stored.totals(
        "q-1",
        Map.of(
            "packets_in", "12345", "dropped", "{\"queue\":3}", "position", "00000000000000000007"));
    stored.add("q-none", "running");
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
  }

  private static JsonNode results(String id, String parameters) throws Exception {
    return Rest.json(stored.rest.get("/api/v1/queries/" + id + "/results" + parameters));
  }

  /** Returns each row as END/PROCESSOR/RANK, with the end of its window in seconds. */
  private static List<String> rows(JsonNode results) {
    List<String> rows = new ArrayList<>();
    for (JsonNode row : results.path("rows")) {
      long seconds = row.path("window_end_ns").asLong() / 1_000_000_000;
      rows.add(seconds + "/" + row.path("processor").asText() + "/" + row.path("rank").asInt());
    }
    return rows;
  }

  @Test
  void returnsAllRowsInOrderOfWindows() throws Exception {
    JsonNode results = results("q-1", "");
    assertThat(rows(results))
        .hasSize(500)
        .startsWith(
            "1/top-k/1", "1/top-k/2", "1/top-k/3", "1/diff-group/1", "1/diff-group/2", "2/top-k/1")
        .endsWith("100/diff-group/2");
    assertThat(results.path("query").asText()).isEqualTo("q-1");
    assertThat(results.path("state").asText()).isEqualTo("finished");
    assertThat(results.path("rows_omitted").asLong()).isZero();
    assertThat(results.path("more").asBoolean()).isFalse();
    assertThat(results.path("last_entry").asText()).isEqualTo("100-1");
    assertThat(results.path("completeness").path("packets_in").asLong()).isEqualTo(12345);
    assertThat(results.path("completeness").has("position")).isFalse();
    assertThat(results.path("completeness").path("dropped").path("queue").asLong()).isEqualTo(3);
  }

  @ParameterizedTest
  @CsvSource({
    "0, 300, top-k",
    "top-k, 300, top-k",
    "TOP_K, 300, top-k",
    "1, 200, diff-group",
    "diff_group, 200, diff-group"
  })
  void returnsRowsOfOneProcessor(String wanted, int rows, String name) throws Exception {
    JsonNode results = results("q-1", "?processor=" + wanted);
    assertThat(rows(results)).hasSize(rows).allMatch(row -> row.contains("/" + name + "/"));
  }

  @Test
  void returnsOnlyTheLatestWindow() throws Exception {
    JsonNode results = results("q-1", "?processor=0&limit=4");
    assertThat(rows(results))
        .containsExactly("99/top-k/3", "100/top-k/1", "100/top-k/2", "100/top-k/3");
    assertThat(results.path("rows_omitted").asLong()).isEqualTo(296);
    assertThat(results.path("last_entry").asText()).isEqualTo("100-1");
  }

  @Test
  void returnsTheLatestWindowAfterAnEntry() throws Exception {
    JsonNode results = results("q-1", "?processor=1&limit=3&after=97-1");
    assertThat(rows(results))
        .containsExactly("99/diff-group/2", "100/diff-group/1", "100/diff-group/2");
    assertThat(results.path("rows_omitted").asLong()).isEqualTo(3);
    JsonNode all = results("q-1", "?processor=1&limit=7&after=97-1");
    assertThat(rows(all)).hasSize(6);
    assertThat(all.path("rows_omitted").asLong()).isZero();
  }

  @Test
  void returnsTheLatestWindowDuringConcurrentChanges() throws Exception {
    stored.add("q-live", "running");
    stored.window("q-live", 1, 0, 3);
    stored.window("q-live", 2, 0, 3);
    assertThat(rows(results("q-live", "?limit=2"))).containsExactly("2/top-k/2", "2/top-k/3");
    stored.window("q-live", 3, 0, 4);
    stored.dropWindow("q-live", 1, 0);
    JsonNode results = results("q-live", "?limit=5");
    assertThat(rows(results))
        .containsExactly("2/top-k/3", "3/top-k/1", "3/top-k/2", "3/top-k/3", "3/top-k/4");
    assertThat(results.path("rows_omitted").asLong()).isEqualTo(2);
  }

  @Test
  void returnsOnlyRowsAfterAnEntry() throws Exception {
    assertThat(rows(results("q-1", "?after=99-1")))
        .hasSize(5)
        .allMatch(row -> row.startsWith("100/"));
    assertThat(rows(results("q-1", "?after=99-0"))).hasSize(7).startsWith("99/diff-group/1");
    JsonNode none = results("q-1", "?after=100-1");
    assertThat(rows(none)).isEmpty();
    assertThat(none.path("last_entry").asText()).isEqualTo("100-1");
  }

  @Test
  void returnsNothingBeforeTheFirstWindow() throws Exception {
    JsonNode results = results("q-none", "");
    assertThat(rows(results)).isEmpty();
    assertThat(results.path("last_entry").asText()).isEmpty();
    assertThat(results.path("completeness")).isEmpty();
  }

  @Test
  void pagesAreBoundedAndComplete() throws Exception {
    stored.add("q-long", "finished");
    for (int number = 1; number <= 11; number++) {
      stored.window("q-long", number, 0, 2500);
    }
    List<String> rows = new ArrayList<>();
    List<Integer> sizes = new ArrayList<>();
    JsonNode page;
    String cursor = "";
    do {
      page = results("q-long", "?after=" + cursor);
      cursor = page.path("last_entry").asText();
      sizes.add(page.path("rows").size());
      rows.addAll(rows(page));
    } while (page.path("more").asBoolean());
    assertThat(sizes).containsExactly(10_000, 10_000, 7_500);
    assertThat(rows).doesNotHaveDuplicates().hasSize(27_500);
  }
}
