package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.text.QueryError;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that the formatter rejects exactly the queries that no catalogue and inventory could make
 * valid.
 */
class ValidationTest {
  /** Messages of errors that depend on the catalogue, the inventory or the rights. */
  private static final Pattern OF_NAMES =
      Pattern.compile(
          String.join(
              "|",
              "unknown (parser|host|tenant|query|field) .*",
              "in the query .*",
              "'10.0.0' is not an IPv4 address",
              "no parser in PARSE has all fields of the condition",
              "these fields come from more than two parsers",
              "tcp_pkt_size emits tuples once a second[:,] .*",
              "tcp_\\w+ has no value field\\b.*",
              "tcp_\\w+, the first parser in PARSE, reports no duration",
              "by takes a number, but .* is .*",
              "(url|status|unanswered|response_time_ns) (has|is|takes|can't be) .*"));

  private static List<QueryError> formatErrors(String text) {
    return Formatter.format(text).errors();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "PARSE http_get FROM * TO *:99999 PROCESS (top-k)",
        "PARSE http_get FROM * TO *:90-80 PROCESS (top-k)",
        "PARSE http_get FROM * TO *:http PROCESS (top-k)",
        "PARSE http_get FROM 10.0.0.0/33 PROCESS (top-k)",
        "PARSE http_get FROM 300.1.1.1 PROCESS (top-k)",
        "PARSE http_get FROM 2001:db8:::1 PROCESS (top-k)",
        "PARSE http_get FROM h1/24 PROCESS (top-k)",
        "PARSE http_get FROM * VLAN 5000 PROCESS (top-k)",
        "PARSE http_get FROM * WHERE status < (400, 500) PROCESS (top-k)",
        "PARSE http_get FROM * WHERE src_ip = 10.0.0.0/40 PROCESS (top-k)",
        "PARSE http_get FROM * LIMIT 9x PROCESS (top-k)",
        "PARSE http_get FROM * LIMIT 0p PROCESS (top-k)",
        "PARSE http_get FROM * SAMPLE 1.5 PROCESS (top-k)",
        "PARSE http_get FROM * SAMPLE half PROCESS (top-k)",
        "PARSE http_get(url=templat) FROM * PROCESS (top-k)",
        "PARSE http_get(url=hash, url=path) FROM * PROCESS (top-k)",
        "PARSE http_get FROM * PROCESS (topk)",
        "PARSE http_get FROM * PROCESS (top-k: n=3)",
        "PARSE http_get FROM * PROCESS (top-k: k=0)",
        "PARSE http_get FROM * PROCESS (top-k: k=(1, 2))",
        "PARSE http_get FROM * PROCESS (top-k: w=10)",
        "PARSE http_get FROM * PROCESS (top-k: w=10s, s=20s)",
        "PARSE http_get FROM * PROCESS (top-k: order=up)",
        "PARSE http_get FROM * PROCESS (top-k: by=response_bytes, agg=count)",
        "PARSE http_get FROM * PROCESS (group: agg=median)",
        "PARSE http_get FROM * PROCESS (percentile: by=response_bytes, p=101)",
        "PARSE http_get FROM * PROCESS (join)",
        "PARSE http_get FROM * PROCESS (filter: when=\"count\")",
        "PARSE http_get FROM * PROCESS (filter: when=\"sum > 3\")",
        "PARSE http_get FROM * PROCESS (filter: when=\"median(status) > 3\")",
        "PARSE http_get FROM * PROCESS (filter: when=\"rate > 3\")",
        "PARSE http_get FROM * PROCESS (filter: when=\"share > 0.1\")",
        "PARSE http_get FROM * PROCESS (filter: when=\"sum(status > 1) > 0.1\")",
        "PARSE http_get FROM * PROCESS (trigger: every=1s, w=10ms)",
        "PARSE http_get FROM * PROCESS (trigger: after=0)",
        "PARSE http_get FROM * PROCESS (trigger: severity=bad)",
        "PARSE http_get FROM * PROCESS (trigger: clear=few)",
        "PARSE http_get FROM * PROCESS (trigger: webhook=\"ftp://x\")",
        "PARSE http_get FROM * PROCESS (trigger: topic=\"a b\")",
      })
  void rejectsInvalidQueriesWithTheCompilersReason(String query) {
    assertThat(formatErrors(query)).isNotEmpty().isEqualTo(Fixtures.compile(query).errors());
    // Repeats the query with unknown names: parsers may belong to a plug-in, and hosts to another
    // inventory.
    String elsewhere = query.replace("http_get", "plug_in");
    assertThat(formatErrors(elsewhere)).hasSameSizeAs(formatErrors(query));
    assertThat(Fixtures.compile(elsewhere).errors()).containsAll(formatErrors(elsewhere));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "PARSE plug_in(text=hash) FROM web-servers TO 7:80 PROCESS (top-k: key=(a, b), by=c)",
        "PARSE plug_in FROM * TENANT 99999999 PROCESS (filter: when=\"sum(a) > 3\", group=b)",
        "USE errors LIMIT 10s",
        "USE errors PROCESS (join: by=a)",
        "PARSE plug_in, other FROM * WHERE a = (1, x) PROCESS (join), (rate: by=b)",
        "PARSE plug_in FROM * PROCESS (trigger: when=\"share(a = 1) > 0.2\", topic=alerts.x)",
      })
  void acceptsNamesThatSomeInventoryOrPlugInMayHave(String query) {
    assertThat(formatErrors(query)).isEmpty();
  }

  @Test
  void ignoresOnlyErrorsThatConcernNames() {
    for (String query : ErrorGalleryTest.queries(Fixtures.resource("gallery.txt"))) {
      List<QueryError> compiled = Fixtures.compile(query).errors();
      List<QueryError> formatted = formatErrors(query);
      assertThat(compiled).as(query).containsAll(formatted);
      Stream<QueryError> passed = compiled.stream().filter(error -> !formatted.contains(error));
      assertThat(passed.map(QueryError::message)).as(query).allMatch(OF_NAMES.asMatchPredicate());
    }
  }

  /** Every query that compiles has a canonical layout. */
  @Test
  void acceptsEverythingThatCompiles() {
    Random random = new Random(7);
    QueryGenerator generator = new QueryGenerator(7);
    int refused = 0;
    for (int i = 0; i < 3_000; i++) {
      StringBuilder text = new StringBuilder(generator.query());
      text.setCharAt(random.nextInt(text.length()), "0915:/.,()=k *-x".charAt(random.nextInt(16)));
      if (!formatErrors(text.toString()).isEmpty()) {
        refused++;
        assertThat(Fixtures.compile(text.toString()).errors()).as("%s", text).isNotEmpty();
      }
    }
    assertThat(refused).as("the mutations have effects").isGreaterThan(300);
  }
}
