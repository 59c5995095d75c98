package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.access.Rights;
import io.tapline.compiler.access.Scope;
import io.tapline.compiler.text.ErrorRenderer;
import io.tapline.compiler.text.QueryError;
import io.tapline.compiler.text.Syntax;
import java.io.IOException;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Tests invalid queries with the exact text of their errors. {@code gallery.txt} contains blocks: a
 * query and, after a line {@code ---}, its errors. A line {@code ===} ends a block.
 */
class ErrorGalleryTest {
  private static final String END = "\n===\n";
  private static final String MIDDLE = "\n---\n";

  @Test
  void everyMessageMatchesTheGallery() throws IOException {
    String gallery = Fixtures.resource("gallery.txt");
    StringBuilder actual = new StringBuilder();
    for (String query : queries(gallery)) {
      String errors = Fixtures.errors(query);
      assertThat(errors).as("errors of %s", query).isNotEmpty();
      actual.append(query).append(MIDDLE).append(errors.stripTrailing()).append(END);
    }
    Golden.check("gallery.txt", actual.toString());
  }

  @Test
  void galleryShowsEveryKindOfError() {
    Set<QueryError.Code> shownCodes =
        queries(Fixtures.resource("gallery.txt")).stream()
            .flatMap(query -> Fixtures.compile(query).errors().stream())
            .map(QueryError::code)
            .collect(Collectors.toCollection(() -> EnumSet.noneOf(QueryError.Code.class)));
    // Other tests cover a query without the required rights and a query that is too large to print.
    shownCodes.add(QueryError.Code.FORBIDDEN);
    shownCodes.add(QueryError.Code.TOO_LARGE);
    assertThat(shownCodes).containsExactlyInAnyOrder(QueryError.Code.values());
  }

  static List<String> queries(String gallery) {
    return List.of(gallery.split(END)).stream().map(block -> block.split(MIDDLE)[0]).toList();
  }

  @Test
  void networkWideQueriesRequireTheRight() {
    Compiler.Options options =
        Compiler.Options.local("q-test", new Rights("team", false, Scope.EVERYTHING));
    String text = "PARSE http_get FROM * TO *:80 PROCESS (top-k)";
    CompileResult result = Compiler.compile(text, Fixtures.CATALOGUE, Fixtures.INVENTORY, options);
    assertThat(ErrorRenderer.render(text, result.errors()))
        .isEqualTo(
            """
            query:1:16: this query is network-wide
              PARSE http_get FROM * TO *:80 PROCESS (top-k)
                             ^~~~
              expected: a host or network in FROM or TO; network-wide queries need a separate right
            """);
    assertThat(result.errors().get(0).code()).isEqualTo(QueryError.Code.FORBIDDEN);
    String named = "PARSE http_get FROM * TO h1:80 PROCESS (top-k)";
    assertThat(Compiler.compile(named, Fixtures.CATALOGUE, Fixtures.INVENTORY, options).errors())
        .isEmpty();
  }

  @Test
  void oversizedQueriesAreRejected() {
    String processors = "(top-k),".repeat(ProcessorCompiler.MAX_PROCESSORS) + "(top-k)";
    assertTooLarge("PARSE http_get TO h1 PROCESS " + processors, "PROCESS has 65 processors");
    StringBuilder addresses = new StringBuilder("10.0.0.0");
    for (int i = 1; i <= MatchReader.MAX_ADDRESSES; i++) {
      addresses.append(",10.0.%d.%d".formatted(i / 256, i % 256));
    }
    assertTooLarge(
        "PARSE http_get TO " + addresses + " PROCESS (top-k)",
        "TO stands for more than 4096 addresses");
    assertTooLarge(" ".repeat(Syntax.LONGEST + 1), "the query has 65537 characters");
  }

  private static void assertTooLarge(String text, String message) {
    assertThat(Fixtures.compile(text).errors())
        .singleElement()
        .satisfies(
            error -> {
              assertThat(error.code()).isEqualTo(QueryError.Code.TOO_LARGE);
              assertThat(error.message()).isEqualTo(message);
            });
  }
}
