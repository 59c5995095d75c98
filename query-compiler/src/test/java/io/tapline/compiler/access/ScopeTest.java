package io.tapline.compiler.access;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.CompileResult;
import io.tapline.compiler.Compiler;
import io.tapline.compiler.Fixtures;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.text.ErrorRenderer;
import io.tapline.compiler.text.QueryError;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests queries of a caller whose scope is 10.0.2.0/24 and 2001:db8:2::/48. */
class ScopeTest {
  private static final Inventory HOSTS =
      Inventory.fromYaml(
          """
          hosts:
            mine: 10.0.2.5
            mine6: 2001:db8:2::5
            theirs: 10.0.3.5
            both: [10.0.2.6, 10.0.3.6]
            "101": 10.0.3.7
          groups:
            everybody: [mine, theirs]
          tenants: {web: 7, red: 8}
          queries:
            dreams: PARSE http_get FROM * TO nowhere:80 LIMIT 90s SAMPLE * PROCESS (top-k)
            spying: PARSE http_get FROM * TO theirs:80 LIMIT 90s SAMPLE * PROCESS (top-k)
          """);
  private static final Rights RIGHTS =
      new Rights(
          "web",
          false,
          new Scope(
              List.of(
                  Scope.prefix("10.0.2.0/24").orElseThrow(),
                  Scope.prefix("2001:db8:2::/48").orElseThrow())));

  private static CompileResult compile(String fromTo) {
    return Compiler.compile(
        "PARSE http_get " + fromTo + " LIMIT 90s SAMPLE * PROCESS (top-k)",
        Fixtures.CATALOGUE,
        HOSTS,
        Compiler.Options.local("web-1", RIGHTS));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "FROM * TO 10.0.2.5:80",
        "TO 10.0.2.0/24",
        "FROM 10.0.2.128/25 TO *:80",
        "FROM 10.0.9.9 TO mine:80",
        "FROM mine TO 10.0.3.5",
        "FROM mine, mine6 TO *",
        "TO 2001:db8:2:1::/64",
        "TO [2001:db8:2::1]:80",
      })
  void oneSideWithinTheScopeIsEnough(String fromTo) {
    assertThat(compile(fromTo).errors()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "FROM * TO *",
        "FROM *:80 TO *",
        "TO *:80",
        "FROM * TO 10.0.3.5",
        "TO 10.0.2.0/23",
        "TO 10.0.0.0/8",
        "TO 0.0.0.0/0",
        "FROM 0.0.0.0/0 TO 0.0.0.0/0",
        "TO 10.0.2.5, 10.0.3.5",
        "FROM mine, 10.0.3.5 TO mine, 10.0.3.5",
        "TO mine, *:80",
        "FROM mine, * TO *",
        "TO ::ffff:10.0.2.5",
        "TO ::/0",
        "TO ::10.0.2.5",
        "TO 2001:db8::/32",
        "TO 2002:a00:205::/48",
      })
  void rejectsMatchesOutsideTheScope(String fromTo) {
    CompileResult result = compile(fromTo);
    assertThat(result.plan()).isEmpty();
    assertThat(result.errors())
        .singleElement()
        .satisfies(error -> assertThat(error.code()).isEqualTo(QueryError.Code.FORBIDDEN));
  }

  @Test
  void aNamedQueryDoesNotBypassRights() {
    CompileResult result =
        Compiler.compile(
            "USE spying", Fixtures.CATALOGUE, HOSTS, Compiler.Options.local("web-1", RIGHTS));
    assertThat(result.plan()).isEmpty();
    assertThat(ErrorRenderer.render("USE spying", result.errors()))
        .isEqualTo(
            """
            query:1:5: in the query 'spying': it names something unknown or outside your subnets
              USE spying
                  ^~~~~~
              expected: FROM or TO within 10.0.2.0/24, 2001:db8:2::/48
            """);
    CompileResult wrongResult =
        Compiler.compile(
            "USE dreams", Fixtures.CATALOGUE, HOSTS, Compiler.Options.local("web-1", RIGHTS));
    assertThat(ErrorRenderer.render("USE dreams", wrongResult.errors()))
        .as("a name that never existed")
        .isEqualTo(ErrorRenderer.render("USE spying", result.errors()).replace("spying", "dreams"))
        .doesNotContain("nowhere");
  }

  /** No clause that takes a name reveals whether the name is out of scope or does not exist. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "theirs | FROM * TO %s:80",
        "theirs | FROM %s TO mine:80",
        "theirs | FROM mine, %s TO *",
        "theirs | TO %s/24",
        "both | TO %s",
        "everybody | TO %s",
        "101 | TO %s:80",
        "theirs | TO mine WHERE dst_ip = %s",
        "red | TO mine TENANT %s",
      })
  void foreignNamesLookLikeUnknownOnes(String name, String fromTo) {
    String never = name.replaceAll(".", "z").replace("zzz", name.equals("101") ? "102" : "zzz");
    String refusal = ErrorRenderer.render("", compile(fromTo.formatted(name)).errors());
    String expected = ErrorRenderer.render("", compile(fromTo.formatted(never)).errors());
    assertThat(compile(fromTo.formatted(name)).plan()).isEmpty();
    assertThat(refusal).isNotEmpty().isEqualTo(expected.replace(never, name));
    assertThat(compile(fromTo.formatted(name)).errors().stream().map(QueryError::code))
        .containsExactlyElementsOf(
            compile(fromTo.formatted(never)).errors().stream().map(QueryError::code).toList());
  }

  @Test
  void theTeamsNetworkIsNamed() {
    assertThat(compile("TO mine TENANT web").plan().orElseThrow().getMatch().getTenantsList())
        .containsExactly(7);
  }

  @Test
  void errorsRevealNoForeignNames() {
    CompileResult result = compile("TO minee");
    String text = ErrorRenderer.render("", result.errors());
    assertThat(text).contains("mine6").doesNotContain("theirs").doesNotContain("everybody");
    assertThat(ErrorRenderer.render("", compile("TO thers").errors()))
        .contains("unknown host 'thers'")
        .doesNotContain("theirs");
    assertThat(ErrorRenderer.render("", compile("TO 10.0.3.5:80").errors()))
        .contains("10.0.3.5:80 is outside your subnets", "within 10.0.2.0/24");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "10.0.2", "10.0.2.1/24", "10.0.2.0/33", "10.0.2.0/", "h1", "::/129"})
  void invalidPrefixesAreRejected(String text) {
    assertThat(Scope.prefix(text)).isEmpty();
  }
}
