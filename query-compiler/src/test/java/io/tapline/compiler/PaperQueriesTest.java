package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.nio.file.Files;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tests that the queries of NetAlytics sections 3.3 and 7, and some with WHERE, compile to exactly
 * the plans in src/test/resources/plans.
 */
class PaperQueriesTest {
  static Stream<Arguments> queries() {
    return Stream.of(
        // Section 3.3, first example, as printed.
        Arguments.of(
            "top_k_of_two_parsers",
            """
            PARSE tcp_conn_time, http_get
            FROM 10.0.2.8:5555 TO 10.0.2.9:80
            LIMIT 90s SAMPLE auto
            PROCESS (top-k: k=10, w=10s)
            """),
        // Section 3.3, second example, as printed.
        Arguments.of(
            "diff_group_by_url",
            """
            PARSE http_get FROM * TO h1:80, h2:3306
            LIMIT 5000p SAMPLE 0.1
            PROCESS (diff-group: group=get)
            """),
        // Section 7.1 describes this query without printing it: tcp-conn-time and diff-group-avg by
        // source and destination.
        Arguments.of(
            "time_per_tier",
            "PARSE tcp-conn-time FROM * TO h1, h2 LIMIT 500s SAMPLE *"
                + " PROCESS (diff-group-avg: group=(srcIP, destIP))"),
        // Section 7.1 describes this query without printing it: tcp-pkt-size and group-sum for each
        // connection.
        Arguments.of(
            "throughput_per_connection",
            "PARSE tcp-pkt-size FROM * TO h1, h2 LIMIT 500s SAMPLE *"
                + " PROCESS (group-sum: group=(srcIP, destIP))"),
        // Section 7.2, both as printed.
        Arguments.of(
            "time_per_server",
            "PARSE tcp_conn_time FROM * TO h1:80,h2:3306 LIMIT 500s SAMPLE * PROCESS (diff-group:"
                + " group=destIP)"),
        Arguments.of(
            "time_per_page",
            "PARSE (tcp_conn_time, http_get) FROM * TO h1:80 LIMIT 500s SAMPLE * PROCESS"
                + " (diff-group: group=get)"),
        // Section 7.2 describes this query without printing it: the mysql parser, per statement.
        Arguments.of(
            "time_per_statement",
            "PARSE mysql FROM * TO h2:3306 LIMIT 500s SAMPLE * PROCESS (diff-group:"
                + " group=statement)"),
        // Section 7.3 describes this query without printing it: http_get and top_k.
        Arguments.of(
            "popular_pages",
            "PARSE http_get FROM * TO h1:80 LIMIT 90s SAMPLE * PROCESS (top_k: k=10, w=10s)"),
        // Beyond the paper: conditions on numbers, strings, addresses, times and sizes.
        Arguments.of(
            "where_slow_errors",
            "PARSE http_get FROM * TO h1:80 WHERE status >= 500 AND method != (GET, \"POST\")"
                + " AND response_time_ns > 10ms AND response_bytes <= 1.5kB LIMIT 90s SAMPLE *"
                + " PROCESS (top-k: k=10, w=10s)"),
        // Two parsers: a condition applies to those that have its field.
        Arguments.of(
            "where_of_two_parsers",
            "PARSE tcp_conn_time, http_get FROM 10.0.2.0/24 TO h1:8000-8099 VLAN 7 TENANT blue"
                + " WHERE src_ip = (10.0.2.0/25, 2001:db8::/32) AND dst_ip != h2 AND status = 404"
                + " AND src_port < 1024 LIMIT 5000p SAMPLE 0.1 PROCESS (diff-group: group=get)"));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("queries")
  void hasExactlyThisPlan(String name, String text) throws IOException {
    CompileResult result = Fixtures.compile(text);

    assertThat(result.errors()).isEmpty();
    String json = Plans.toJson(result.plan().orElseThrow());
    Golden.check("plans/" + name + ".plan.json", json + "\n");
    assertThat(planSchema().validate(new ObjectMapper().readTree(json))).isEmpty();
    assertThat(Plans.fromJson(json)).isEqualTo(result.plan().orElseThrow());
  }

  private static JsonSchema planSchema() throws IOException {
    return JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
        .getSchema(Files.readString(Golden.path("schema/plan.schema.json")));
  }

  /** Verifies, independently of the golden files, what the paper requires of the join. */
  @Test
  void connectionTimePerPageJoinsTheUrl() {
    Plan plan =
        Fixtures.compile("PARSE (tcp_conn_time, http_get) TO h1:80 PROCESS (diff-group: group=get)")
            .plan()
            .orElseThrow();
    assertThat(plan.getProcessors(0).getParser()).isEqualTo("tcp_conn_time");
    assertThat(plan.getProcessors(0).getJoin().getParser()).isEqualTo("http_get");
    assertThat(plan.getProcessors(0).getJoin().getFieldsList()).containsExactly("url");
    assertThat(plan.getProcessors(0).getKeyList()).containsExactly("url");
    assertThat(plan.getProcessors(0).getValue().getDifference().getStartList())
        .containsExactly("syn");
    assertThat(plan.getProcessors(0).getValue().getDifference().getEndList())
        .containsExactly("fin", "rst");
  }
}
