package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class FormatterTest {
  @Test
  void formatsClauses() {
    assertThat(
            format(
                "parse (TCP-conn_time,http_get)from *:* to h1:80 ,h2:3306 limit 90S sample AUTO process(DIFF_group:group=(get)),(top_k : K = 10,w=10s)"))
        .isEqualTo(
            """
            PARSE tcp_conn_time, http_get
            FROM * TO h1:80, h2:3306
            LIMIT 90s SAMPLE auto
            PROCESS (diff-group: group=get), (top-k: k=10, w=10s)""");
  }

  @Test
  void keepsValuesAndNamesOfHostsAsWritten() {
    assertThat(
            format(
                "PARSE http_get TO App-Server, \"h1\":80, 2001:DB8::/32:443 PROCESS (top-k: key=(destIP, \"url\"))"))
        .isEqualTo(
            """
            PARSE http_get
            TO App-Server, "h1":80, [2001:DB8::]/32:443
            PROCESS (top-k: key=(destIP, "url"))""");
  }

  @Test
  void keepsComments() {
    assertThat(
            format(
                """
                -- why we ask
                PARSE http_get -- pages
                FROM * /* clients */ TO h1
                PROCESS (top-k -- most wanted
                ) -- ranked
                -- the end
                """))
        .isEqualTo(
            """
            -- why we ask
            -- pages
            PARSE http_get
            /* clients */
            FROM * TO h1
            -- most wanted
            -- ranked
            PROCESS (top-k)
            -- the end""");
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " => ",
      value = {
        "status==500 && !(method in {GET,HEAD}) => status = 500 AND method != (GET, HEAD)",
        "(status = 1 and status = (2)) or dst-ip not in 10.0.0.0 / 8"
            + " => status = 1 AND status = 2 OR dst_ip != 10.0.0.0/8",
        "status=1 AND (status=2 OR NOT(status=3)) => status = 1 AND (status = 2 OR NOT status = 3)",
        "!(status=1&&url=\"a\\\"b\") => NOT (status = 1 AND url = \"a\\\"b\")",
        "status in [1, 5] or status in 7..9 => status = (1 .. 5) OR status = (7 .. 9)",
        "url=my-page.html AND url = get => url = my-page.html AND url = get",
        "HAS(Status) AND src_ip NOT LIKE 10.*.*.1 => has(status) AND src_ip NOT LIKE 10.*.*.1",
        "status /* of the answer */ > -1 => status > -1",
      })
  void conditionsHaveOneSpelling(String written, String printed) {
    String formatted = format("PARSE http_get TO h1 WHERE " + written + " PROCESS (top-k)");
    String where =
        formatted.lines().filter(line -> line.startsWith("WHERE ")).findFirst().orElseThrow();
    assertThat(where).isEqualTo("WHERE " + printed);
  }

  @Test
  void breaksLongListsAfterCommas() {
    String servers = "10.0.0.1:80" + ", 10.0.0.1:80".repeat(12);
    assertThat(format("PARSE http_get FROM * TO " + servers + " PROCESS (top-k)"))
        .isEqualTo(
            """
            PARSE http_get
            FROM *
            TO 10.0.0.1:80, 10.0.0.1:80, 10.0.0.1:80, 10.0.0.1:80, 10.0.0.1:80, 10.0.0.1:80, 10.0.0.1:80,
                10.0.0.1:80, 10.0.0.1:80, 10.0.0.1:80, 10.0.0.1:80, 10.0.0.1:80, 10.0.0.1:80
            PROCESS (top-k)""");
  }

  @Test
  void acceptsUnknownNamesButNoSyntaxErrors() {
    assertThat(format("PARSE unknown TO nowhere PROCESS (top-k: key=nothing)"))
        .isEqualTo("PARSE unknown\nTO nowhere\nPROCESS (top-k: key=nothing)");
    Formatter.Result wrongResult = Formatter.format("PARSE http_get PROCESS (top-k) TO h1");
    assertThat(wrongResult.text()).isEmpty();
    assertThat(wrongResult.errors())
        .singleElement()
        .satisfies(e -> assertThat(e.message()).isEqualTo("TO must come before PROCESS"));
  }

  private static String format(String text) {
    Formatter.Result result = Formatter.format(text);
    assertThat(result.errors()).isEmpty();
    return result.text();
  }

  static LongStream seeds() {
    return LongStream.range(0, 20);
  }

  /** Tests 2,000 queries in total. */
  @ParameterizedTest
  @MethodSource("seeds")
  void isIdempotentAndPreservesTheMeaning(long seed) {
    QueryGenerator generator = new QueryGenerator(seed);
    for (int i = 0; i < 100; i++) {
      String text = generator.query();
      CompileResult previousResult = Fixtures.compile(text);
      assertThat(previousResult.errors()).as(text).isEmpty();
      String formatted = format(text);

      CompileResult laterResult = Fixtures.compile(formatted);
      assertThat(laterResult.plan()).as(text).isEqualTo(previousResult.plan());
      assertThat(laterResult.notes()).as(text).isEqualTo(previousResult.notes());
      assertThat(format(formatted)).as(text).isEqualTo(formatted);
      assertThat(previousResult.plan().orElseThrow().getText()).isEqualTo(formatted);
    }
  }
}
