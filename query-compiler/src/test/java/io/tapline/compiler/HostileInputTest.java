package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.text.ErrorRenderer;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.QueryError;
import io.tapline.compiler.text.Syntax;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tests that any text gives a plan or errors with a position in the text, and that the compiler
 * neither throws nor prints.
 */
class HostileInputTest {
  private static final String[] PIECES = {
    "PARSE",
    "FROM",
    "TO",
    "LIMIT",
    "SAMPLE",
    "PROCESS",
    "(",
    ")",
    "((",
    ",",
    ":",
    "::",
    "=",
    "/",
    "*",
    "[",
    "]",
    "\"",
    "--",
    "/*",
    "*/",
    "\\",
    "\n",
    "\r",
    "\t",
    "\0",
    "-",
    ".",
    "http_get",
    "top-k",
    "k=",
    "10s",
    "5000p",
    "0.1",
    "1e9",
    "999999999999999999999",
    "2001:db8::1",
    "10.0.0.0/8",
    "h1",
    "é",
    "€",
    "\uD800",
    "\uDC00",
    "\uD83D\uDE00",
    "\u2028",
    "İ",
    "auto",
    "group=get"
  };

  static LongStream seeds() {
    return LongStream.range(0, 10);
  }

  /** Tests 10,000 queries in total. */
  @ParameterizedTest
  @MethodSource("seeds")
  void mutatedQueriesGiveAPlanOrErrors(long seed) {
    Random random = new Random(seed);
    QueryGenerator generator = new QueryGenerator(seed + 1000);
    int plans = 0;
    for (int i = 0; i < 1000; i++) {
      String text = mutate(generator.query(), random);
      plans += checkResponse(text) ? 1 : 0;
    }
    // Ensures that the mutations produce both plans and errors.
    assertThat(plans).isBetween(20, 900);
  }

  private static String mutate(String query, Random random) {
    StringBuilder text = new StringBuilder(query);
    for (int changes = 1 + random.nextInt(4); changes > 0 && text.length() > 0; changes--) {
      int position = random.nextInt(text.length());
      int end = Math.min(text.length(), position + 1 + random.nextInt(12));
      switch (random.nextInt(4)) {
        case 0 -> text.delete(position, end);
        case 1 -> text.insert(position, PIECES[random.nextInt(PIECES.length)]);
        case 2 -> text.replace(position, end, PIECES[random.nextInt(PIECES.length)]);
        default -> text.insert(random.nextInt(text.length()), text.substring(position, end));
      }
    }
    return text.toString();
  }

  /** Verifies the compiler's response to a text. Returns true if the text compiled. */
  private static boolean checkResponse(String text) {
    CompileResult result = Fixtures.compile(text);
    long lines = text.chars().filter(c -> c == '\n').count() + 1;
    for (QueryError error : result.errors()) {
      assertThat(error.line()).as(text).isBetween(1, (int) lines);
      assertThat(error.column()).as(text).isBetween(1, text.length() + 1);
      assertThat(error.length()).as(text).isBetween(1, text.length() + 1);
      assertThat(error.message()).as(text).isNotBlank();
      assertThat(error.expected()).as(text).isNotBlank();
    }
    assertThat(result.errors())
        .hasSizeLessThanOrEqualTo(Errors.MAX_ERRORS)
        .isSortedAccordingTo(QueryError.BY_POSITION);
    assertThat(result.plan().isPresent()).as(text).isEqualTo(result.errors().isEmpty());
    ErrorRenderer.render(text, result.errors());
    result.plan().ifPresent(plan -> Explain.render(plan, result.notes()));

    Formatter.Result formatted = Formatter.format(text);
    if (formatted.errors().isEmpty() && formatted.text().length() <= Syntax.LONGEST) {
      assertThat(Formatter.format(formatted.text()).text()).as(text).isEqualTo(formatted.text());
    }
    return result.plan().isPresent();
  }

  static Stream<String> bombs() {
    int longest = Syntax.LONGEST;
    return Stream.of(
        "(".repeat(longest),
        ")".repeat(longest),
        "[".repeat(longest),
        "\"".repeat(longest),
        "/*".repeat(longest / 2),
        ":".repeat(longest),
        "-".repeat(longest),
        "*".repeat(longest),
        "\n".repeat(longest),
        "PARSE ".repeat(longest / 6),
        "PARSE http_get TO h1 PROCESS (top-k: key=" + "(".repeat(60_000),
        "PARSE http_get TO h1 PROCESS " + "(".repeat(60_000) + "top-k" + ")".repeat(5_000),
        "PARSE " + "a,".repeat(30_000) + "a TO h1 PROCESS (top-k)",
        "PARSE " + "x".repeat(60_000) + " TO h1 PROCESS (top-k)",
        "PARSE http_get TO h1 LIMIT " + "9".repeat(60_000) + "s PROCESS (top-k)",
        "PARSE http_get TO h1 SAMPLE 0." + "0".repeat(60_000) + "1 PROCESS (top-k)",
        "PARSE http_get TO " + "1:".repeat(30_000) + " PROCESS (top-k)",
        "PARSE http_get TO " + "1.".repeat(30_000) + " PROCESS (top-k)",
        "PARSE http_get TO h1 PROCESS (top-k: " + "k=1,".repeat(15_000) + "k=1)");
  }

  @ParameterizedTest
  @MethodSource("bombs")
  void hugeQueriesGiveErrors(String text) {
    assertThat(checkResponse(text)).isFalse();
  }

  @Test
  void nothingIsPrinted() {
    PrintStream out = System.out;
    PrintStream err = System.err;
    ByteArrayOutputStream printedStream = new ByteArrayOutputStream();
    PrintStream trap = new PrintStream(printedStream, true, StandardCharsets.UTF_8);
    try {
      System.setOut(trap);
      System.setErr(trap);
      for (String text : List.of("", "PARSE (", "\u0000 \"", "TO TO TO", "PARSE a b c €")) {
        Fixtures.compile(text);
      }
    } finally {
      System.setOut(out);
      System.setErr(err);
    }
    assertThat(printedStream.toString(StandardCharsets.UTF_8)).isEmpty();
  }
}
