package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.schema.proto.Limit;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Sampling;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests alternative spellings of a query, and the LIMIT and SAMPLE clauses. */
class LanguageTest {
  private static final String QUERY =
      "PARSE tcp_conn_time, http_get FROM * TO h1:80, 10.0.3.1:80 LIMIT 90s SAMPLE 0.1 PROCESS"
          + " (diff-group: group=(url, dst_ip), w=10s)";

  static Stream<String> spellings() {
    return Stream.of(
        QUERY.replace("PARSE", "parse").replace("FROM", "From").replace("PROCESS", "pRoCeSs"),
        QUERY.replace("tcp_conn_time, http_get", "(tcp_conn_time, http_get)"),
        QUERY.replace("tcp_conn_time, http_get", "tcp-conn-time,HTTP-Get"),
        QUERY.replace(" ", "\n"),
        QUERY.replace(" ", "\t\r\n "),
        QUERY.replace(", ", ",").replace(": ", ":"),
        QUERY.replace(" FROM *", ""),
        QUERY.replace("FROM *", "FROM *:*"),
        QUERY.replace("h1:80", "\"h1\":80"),
        QUERY.replace("h1:80", "H1:080"),
        QUERY.replace("90s", "1.5m"),
        QUERY.replace("90s", "90000ms"),
        QUERY.replace("0.1", ".10"),
        QUERY.replace("diff-group", "diff_group"),
        QUERY.replace("diff-group", "DIFF_Group"),
        QUERY.replace("group=", "GROUP = "),
        QUERY.replace("url, dst_ip", "get, destIP"),
        QUERY.replace("url, dst_ip", "\"url\", dst-ip"),
        QUERY.replace("w=10s", "w=10000ms"),
        QUERY.replace("FROM", "-- a comment\nFROM"),
        QUERY.replace("FROM", "--\nFROM") + " -- and more",
        QUERY.replace("h1:80,", "h1:80, /* ** / * \n */"));
  }

  @ParameterizedTest
  @MethodSource("spellings")
  void spellingIsFlexible(String text) {
    assertThat(withoutText(text)).isEqualTo(withoutText(QUERY));
    assertThat(withoutText(text).getMatch().getFromList()).isEmpty();
    assertThat(withoutText(text).getMatch().getToList())
        .extracting(a -> a.getPrefix() + ":" + a.getPort())
        .containsExactly("10.0.2.9/32:80", "10.0.3.1/32:80");
  }

  private static Plan withoutText(String text) {
    CompileResult result = Fixtures.compile(text);
    assertThat(result.errors()).isEmpty();
    return result.plan().orElseThrow().toBuilder().clearText().build();
  }

  @ParameterizedTest
  @CsvSource({
    "1ms, 0, 1000000",
    "500ms, 0, 500000000",
    "90s, 90, 0",
    "2m, 120, 0",
    "1h, 3600, 0",
    "8760h, 31536000, 0",
    "1.5S, 1, 500000000",
    "1500us, 0, 1500000"
  })
  void readsLimitsOfTime(String text, long seconds, int nanos) {
    Limit limit = plan("LIMIT " + text).getLimit();
    assertThat(limit.getDuration().getSeconds()).isEqualTo(seconds);
    assertThat(limit.getDuration().getNanos()).isEqualTo(nanos);
    assertThat(limit.getPackets()).isZero();
  }

  @ParameterizedTest
  @CsvSource({"1p, 1", "5000p, 5000", "5000P, 5000", "4294967295p, 4294967295"})
  void readsLimitsInPackets(String text, long packets) {
    Limit limit = plan("LIMIT " + text).getLimit();
    assertThat(Integer.toUnsignedLong(limit.getPackets())).isEqualTo(packets);
    assertThat(limit.hasDuration()).isFalse();
  }

  @Test
  void withoutLimitAQueryRunsUntilStopped() {
    assertThat(plan("").getLimit()).isEqualTo(Limit.getDefaultInstance());
  }

  @ParameterizedTest
  @CsvSource({
    "SAMPLE *, OFF, 1",
    "SAMPLE auto, AUTO, 1",
    "SAMPLE AUTO, AUTO, 1",
    "'', AUTO, 1",
    "SAMPLE 1, FIXED, 1",
    "SAMPLE 0.1, FIXED, 0.1",
    "SAMPLE 0.000000001, FIXED, 0.000000001"
  })
  void readsTheSamplingMode(String clause, Sampling.Mode mode, double rate) {
    assertThat(plan(clause).getSampling().getMode()).isEqualTo(mode);
    assertThat(plan(clause).getSampling().getRate()).isEqualTo(rate);
  }

  private static Plan plan(String clauses) {
    return withoutText("PARSE http_get TO h1 " + clauses + " PROCESS (top-k)");
  }

  @Test
  void thePlanNamesQueryTopicAndMonitor() {
    Plan plan = plan("");
    assertThat(plan.getQuery()).isEqualTo("q-test");
    assertThat(plan.getTopic()).isEqualTo("tapline.tuples.q-test");
    assertThat(plan.getMonitorsList())
        .singleElement()
        .satisfies(m -> assertThat(m.getId()).isEqualTo("local-0"));
    assertThat(plan.getRulesList()).isEmpty();
    assertThat(plan.getEpoch()).isEqualTo(1);
  }
}
