package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.conditions.ConditionPrinter;
import io.tapline.schema.proto.Plan;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the types of conditions in WHERE, and which parsers each condition applies to. */
class WhereTest {
  private static List<String> filters(String parsers, String where) {
    CompileResult result =
        Fixtures.compile("PARSE %s TO h1 WHERE %s PROCESS (top-k)".formatted(parsers, where));
    assertThat(result.errors()).as(where).isEmpty();
    Plan plan = result.plan().orElseThrow();
    return plan.getFiltersList().stream()
        .map(
            filter ->
                String.join(", ", filter.getParsersList())
                    + ": "
                    + ConditionPrinter.text(filter.getCondition()))
        .toList();
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " => ",
      value = {
        "status >= 500 OR response_time_ns > 1s => status >= 500 OR response_time_ns > 1000000000",
        "response_bytes > request_bytes + 1kB => response_bytes > request_bytes + 1000",
        "response_bytes - request_bytes > 10 => response_bytes - request_bytes > 10",
        "1024 > src_port => src_port < 1024",
        "method = status OR method = GET => method = \"status\" OR method = \"GET\"",
        "url = my-page.html => url = \"my-page.html\"",
        "unanswered != TRUE => unanswered != true",
        "src_ip = dst-ip => src_ip = dst_ip",
        "src_ip = (h1, 2001:db8::/32) => src_ip = (10.0.2.9/32, 2001:db8::/32)",
        "src_ip NOT LIKE 10.*.*.1 => src_ip NOT LIKE 10.*.*.1",
        "status in {404, 500..599} => status = (404, 500 .. 599)",
        "NOT (has(status) AND status < 200) => NOT (has(status) AND status < 200)",
        "true => true",
      })
  void conditionsAreTyped(String written, String typed) {
    assertThat(filters("http_get", written)).containsExactly("http_get: " + typed);
  }

  @Test
  void eachPartBelongsToParsersWithItsFields() {
    assertThat(
            filters(
                "tcp_conn_time, http_get",
                "src_port < 1024 AND (status = 200 OR url = a) AND dst_port = 80"))
        .containsExactly(
            "tcp_conn_time, http_get: src_port < 1024 AND dst_port = 80",
            "http_get: status = 200 OR url = \"a\"");
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " => ",
      value = {
        "status = (1 => unexpected 'PROCESS'",
        "status = 1 status = 2 => unexpected 'status'",
        "(status = 1)) => unexpected ')'",
        "NOT => unexpected 'PROCESS'",
        "status # 1 => unexpected character",
        "1 = 1 => this comparison contains no field",
        "stauts in (1, 2) => unknown field 'stauts' of http_get",
        "has(nothing) => unknown field 'nothing' of http_get",
        "status = 1 OR event = syn => unknown field 'event' of http_get",
        "url like 10.*.*.1 => url is not an address",
        "status contains 7 => status is not a list",
        "status[0] = 7 => status is not a list",
        "url + 1 > 2 => url is not a number",
        "url = (a..b) => url can't be compared with <, > or a range",
        "src_ip > 10.0.0.1 => src_ip can't be compared with <, > or a range",
        "response_bytes > url + 1 => url is not a number",
        "response_bytes > request_bytes-1 => response_bytes takes a whole number of bytes",
        "src_ip = nowhere => unknown host 'nowhere'",
      })
  void errorsNameTheFault(String where, String message) {
    String text = "PARSE http_get TO h1 WHERE %s PROCESS (top-k)".formatted(where);
    assertThat(Fixtures.errors(text)).contains(message);
  }
}
