package io.tapline.control.cli.query;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.cli.Main;
import io.tapline.control.cli.console.Console;
import io.tapline.control.rest.StoredQueries;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class QueryResultsCommandTest {
  private static String results(StoredQueries storedQueries, String id, String... more) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    List<String> arguments = List.of("query", "results", id, "--server", storedQueries.url());
    int exitCode =
        Main.run(
            new Console(out, err, 0, false),
            Stream.concat(arguments.stream(), Stream.of(more)).toArray(String[]::new));
    assertThat(exitCode).as(err.toString(StandardCharsets.UTF_8)).isZero();
    return out.toString(StandardCharsets.UTF_8);
  }

  @Test
  void missingResultsComeWithAReason() throws Exception {
    try (StoredQueries storedQueries = new StoredQueries()) {
      storedQueries.addFailed("q-1", "the stream job failed: no slot");
      assertThat(results(storedQueries, "q-1"))
          .isEqualTo("no results: the query failed: the stream job failed: no slot\n");
      storedQueries.add("q-2", "finished");
      assertThat(results(storedQueries, "q-2")).startsWith("no results: no packet matched");
    }
  }

  @Test
  void terminalsGetEscapedTextAndPipesGetRawText() throws Exception {
    try (StoredQueries storedQueries = new StoredQueries()) {
      storedQueries.addFailed("q-1", "no host web\u202e1\u2028");
      assertThat(results(storedQueries, "q-1")).endsWith("no host web\\u{202e}1\\u{2028}\n");
      storedQueries.window("q-1", 1, "/\u202egpj.exe");
      assertThat(results(storedQueries, "q-1"))
          .contains("/\\u{202e}gpj.exe ")
          .doesNotContain("\u202e");
      assertThat(results(storedQueries, "q-1", "--json")).contains("\"/\u202egpj.exe\"");
    }
  }

  @Test
  void resultsOfAFailedQueryAreShown() throws Exception {
    try (StoredQueries storedQueries = new StoredQueries()) {
      storedQueries.addFailed("q-1", "the stream job failed: no slot");
      storedQueries.window("q-1", 1, 0, 3);
      assertThat(results(storedQueries, "q-1")).contains("top-k").doesNotContain("no results");
    }
  }
}
