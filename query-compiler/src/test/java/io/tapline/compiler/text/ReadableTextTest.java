package io.tapline.compiler.text;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Tests the same golden cases as C++ and TypeScript. */
class ReadableTextTest {
  private static JsonNode golden() throws Exception {
    return new ObjectMapper()
        .readTree(Path.of("..", "schema", "golden", "readable_text.json").toFile());
  }

  @Test
  void showsGoldenCases() throws Exception {
    for (JsonNode testCase : golden().path("cases")) {
      String shown = testCase.path("shown").asText();
      assertThat(ReadableText.of(testCase.path("text").asText())).isEqualTo(shown);
      assertThat(ReadableText.of(shown)).as("once more").isEqualTo(shown);
    }
  }

  @Test
  void escapesJustTheGoldenRanges() throws Exception {
    int next = 0;
    for (JsonNode range : golden().path("ranges")) {
      int last = Integer.parseInt(range.path(1).asText(), 16);
      for (int first = Integer.parseInt(range.path(0).asText(), 16); next <= last; next++) {
        assertThat(ReadableText.isEscaped(next)).as("U+%04X", next).isEqualTo(next >= first);
      }
    }
    for (; next <= Character.MAX_CODE_POINT; next++) {
      assertThat(ReadableText.isEscaped(next)).as("U+%04X", next).isFalse();
    }
  }

  @Test
  void keepsLineFeedsAndTabsOfLines() {
    assertThat(ReadableText.ofLines("a\u202e\r\n\n\tb\n")).isEqualTo("a\\u{202e}\\u{d}\n\n\tb\n");
    assertThat(ReadableText.ofLines("")).isEmpty();
  }

  @Test
  void escapesUnpairedSurrogates() {
    assertThat(ReadableText.of("\ud83d.")).isEqualTo("\\u{d83d}.");
  }

  @Test
  void theCaretOfAnErrorIsUnderItsPosition() {
    String text = "\tPARSE \u202ehttp_get\u200b FROM";
    QueryError error =
        new QueryError(QueryError.Code.UNKNOWN_NAME, 1, 8, 10, "no parser \u202e", "", "\u2066");
    assertThat(ErrorRenderer.render(text, error))
        .isEqualTo(
            """
            query:1:8: no parser \\u{202e}
               PARSE \\u{202e}http_get\\u{200b} FROM
                     ^~~~~~~~~~~~~~~~~~~~~~~~
              did you mean \\u{2066}?
            """);
  }
}
