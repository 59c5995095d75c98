package io.tapline.flink;

import static io.tapline.flink.support.Conditions.among;
import static io.tapline.flink.support.Conditions.compared;
import static io.tapline.flink.support.Conditions.text;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.ByteString;
import com.google.protobuf.util.JsonFormat;
import io.tapline.conditions.Trees;
import io.tapline.flink.ingest.Pipeline;
import io.tapline.flink.support.Conditions;
import io.tapline.flink.support.MonitorStream;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.Tuple;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.Plan;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests tuples without a value in all kinds of processors, from batches with presence bitmaps to
 * result rows.
 */
class AbsentValuesTest {
  private static final long SECOND = 1_000_000_000L;
  private static final long MS = 1_000_000L;
  private static final String WINDOW = "\"size\":\"1s\",\"slide\":\"1s\"";
  private static final ConditionTree UNANSWERED = among("unanswered", "true");
  private static final ConditionTree HALF_SEEN =
      Trees.and(List.of(Trees.not(text("partial", "")), among("unanswered", "false")));

  /**
   * Returns 10 requests answered in 100 or 104 ms, 10 unanswered ones, 3 responses without a
   * request, and 4 unanswered requests for another URL.
   */
  private static List<Tuple> partlyUnanswered(long atNs) {
    List<Tuple> tuples = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      tuples.add(Tuple.http(atNs + 2 * i, i, "/slow", (100 + i % 2 * 4) * MS, "", false));
      tuples.add(unanswered(atNs + 2 * i + 1, 100 + i, "/slow"));
    }
    for (int i = 0; i < 3; i++) {
      tuples.add(Tuple.http(atNs + 20 + i, 200 + i, "/slow", null, "response", false));
    }
    for (int i = 0; i < 4; i++) {
      tuples.add(unanswered(atNs + 30 + i, 300 + i, "/dead"));
    }
    return tuples;
  }

  private static Tuple unanswered(long timeNs, long flow, String url) {
    return Tuple.http(timeNs, flow, url, null, "request", true);
  }

  @Test
  void distributionsContainAnsweredTuplesOnly() throws Exception {
    JsonNode window = only(Plans.group("DISTRIBUTION", "\"url\"", WINDOW), partlyUnanswered(0));
    JsonNode slow = window.get("rows").get(0);
    assertThat(slow.get("key").get("url").asText()).isEqualTo("/slow");
    assertThat(slow.get("value").asDouble()).isEqualTo(102.0 * MS);
    assertThat(slow.at("/distribution/count").asLong()).isEqualTo(10);
    assertThat(slow.at("/distribution/min").asLong()).isEqualTo(100 * MS);
    assertThat(slow.at("/distribution/p50").asLong()).isEqualTo(100 * MS);
    assertThat(slow.at("/distribution/p99").asLong()).isEqualTo(104 * MS);
    assertThat(slow.get("unanswered").asLong()).isEqualTo(10);
    assertThat(slow.get("half_seen").asLong()).isEqualTo(3);
    assertThat(slow.has("absent"))
        .as("unanswered and half-seen account for all absent values")
        .isFalse();
    assertThat(slow.get("exemplars")).hasSize(3);

    JsonNode dead = window.get("rows").get(1);
    assertThat(dead.get("key").get("url").asText()).isEqualTo("/dead");
    assertThat(dead.get("value").isNull()).isTrue();
    assertThat(dead.get("low").isNull()).isTrue();
    assertThat(dead.get("distribution").toString())
        .isEqualTo(
            "{\"count\":0,\"mean\":null,\"min\":null,\"max\":null,\"p50\":null,\"p90\":null,"
                + "\"p95\":null,\"p99\":null,\"histogram\":[]}");
    assertThat(dead.get("unanswered").asLong()).isEqualTo(4);
    assertThat(dead.get("half_seen").asLong()).isZero();

    assertThat(window.at("/completeness/unanswered").asLong()).isEqualTo(14);
    assertThat(window.at("/completeness/half_seen").asLong()).isEqualTo(3);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "SUM, 1020000000, null",
    "AVG, 1.02E8, null",
    "MIN, 100000000, null",
    "MAX, 104000000, null",
    "PERCENTILE, 104000000, null",
    "DISTINCT, 2, 0",
    "COUNT, 10, 0",
    "RATE, 1.02E9, null",
    "HISTOGRAM, 10, 0",
  })
  void aggregatesOmitAbsentValues(String aggregate, String slow, String dead) throws Exception {
    String processor = Plans.with(Plans.group(aggregate, "\"url\"", WINDOW), ",\"share\":0.9");
    JsonNode rows = only(processor, partlyUnanswered(0)).get("rows");
    assertThat(values(rows)).containsExactly("/slow = " + slow, "/dead = " + dead);
    assertThat(column(rows, "unanswered")).containsExactly("10", "4");
    assertThat(column(rows, "half_seen")).containsExactly("3", "0");
  }

  @Test
  void countsIncludeTuplesWithoutAValue() throws Exception {
    JsonNode rows = only(Plans.counts("COUNT", "\"url\"", WINDOW), partlyUnanswered(0)).get("rows");
    assertThat(values(rows)).containsExactly("/slow = 23", "/dead = 4");
    assertThat(column(rows, "unanswered")).containsExactly("10", "4");
  }

  @Test
  void rowsOfOtherParsersHaveNoAnswers() throws Exception {
    Plan plan = Plans.plan("q", 1, Plans.group("AVG", "\"url\"", WINDOW));
    JsonNode window = windows(plan, partlyUnanswered(0)).get(0);
    JsonNode slow = window.get("rows").get(0);
    assertThat(slow.has("unanswered")).isFalse();
    assertThat(slow.get("absent").asLong()).isEqualTo(13);
    assertThat(window.get("completeness").has("unanswered")).isFalse();
  }

  @Test
  void rankingsTakeOnlyKeysWithAValue() throws Exception {
    String ascending = ",\"ranking\":{\"k\":5,\"ascending\":true}";
    for (String order : List.of(ascending, ",\"ranking\":{\"k\":5}")) {
      String processor = Plans.with(Plans.group("MIN", "\"url\"", WINDOW), order);
      JsonNode window = only(processor, partlyUnanswered(0));
      assertThat(values(window.get("rows"))).containsExactly("/slow = 100000000");
      assertThat(window.at("/completeness/unanswered").asLong()).isEqualTo(14);
    }
  }

  @Test
  void rankingsCountUnansweredAndHalfSeenTuples() throws Exception {
    String rank = ",\"ranking\":{\"k\":5}";
    JsonNode unanswered = only(Plans.with(asked("SUM", UNANSWERED), rank), partlyUnanswered(0));
    assertThat(values(unanswered.get("rows"))).containsExactly("/slow = 10", "/dead = 4");
    JsonNode halves = only(Plans.with(asked("SUM", HALF_SEEN), rank), partlyUnanswered(0));
    assertThat(values(halves.get("rows"))).containsExactly("/slow = 3", "/dead = 0");
  }

  @Test
  void sharesAreRelativeToAllTuples() throws Exception {
    ConditionTree requests = text("partial", "request");
    assertThat(values(only(asked("AVG", requests), partlyUnanswered(0)).get("rows")))
        .containsExactly("/dead = 1.0", "/slow = " + 10.0 / 23);
    ConditionTree fast = compared("response_time_ns", Order.LESS, 101_000_000);
    assertThat(values(only(asked("AVG", fast), partlyUnanswered(0)).get("rows")))
        .as("tuples without a time are not fast, but count in the share")
        .containsExactly("/slow = " + 5.0 / 23, "/dead = 0.0");
  }

  @Test
  void triggersFireOnSharesButNotOnMissingValues() throws Exception {
    String when =
        ",\"condition\":{\"threshold\":0.9},\"trigger\":{\"clear\":0.9,\"severity\":\"info\"}";
    List<JsonNode> alerts =
        windows(plan(Plans.with(asked("AVG", UNANSWERED), when)), partlyUnanswered(0), List.of());
    assertThat(alerts).hasSize(2);
    assertThat(alerts.get(0).get("rows")).hasSize(1);
    assertThat(alerts.get(0).at("/rows/0/key/url").asText()).isEqualTo("/dead");
    assertThat(alerts.get(0).at("/rows/0/alert/state").asText()).isEqualTo("raised");
    assertThat(alerts.get(1).at("/rows/0/alert/state").asText()).isEqualTo("cleared");

    for (String comparison : List.of("ABOVE", "AT_LEAST", "BELOW", "AT_MOST")) {
      String any =
          ",\"condition\":{\"comparison\":\"%s\"},\"trigger\":{\"severity\":\"info\"}"
              .formatted(comparison);
      Plan plan = plan(Plans.with(Plans.group("AVG", "\"url\"", WINDOW), any));
      List<Tuple> dead = List.of(unanswered(1, 1, "/dead"));
      assertThat(windows(plan, dead)).as(comparison).isEmpty();
    }
  }

  @Test
  void anAlertEndsOnceItsGroupHasNoValue() throws Exception {
    String above = ",\"condition\":{},\"trigger\":{\"severity\":\"info\"}";
    Plan plan = plan(Plans.with(Plans.group("AVG", "\"url\"", WINDOW), above));
    List<JsonNode> alerts =
        windows(
            plan,
            List.of(Tuple.http(1, 1, "/a", 5L, "", false)),
            List.of(unanswered(SECOND + 1, 2, "/a")));
    assertThat(alerts).hasSize(2);
    assertThat(alerts.get(1).at("/rows/0/alert/state").asText()).isEqualTo("cleared");
    assertThat(alerts.get(1).at("/rows/0/value").isNull()).isTrue();
  }

  @Test
  void tuplesThatFailTheProcessorsConditionHaveNoValue() throws Exception {
    Plan.Builder plan = plan(Plans.group("MAX", "\"url\"", WINDOW)).toBuilder();
    plan.getProcessorsBuilder(0).getValueBuilder().setOnly(text("url", "/a"));
    JsonNode rows =
        windows(
                plan.build(),
                List.of(
                    Tuple.http(1, 1, "/a", 5L, "", false),
                    Tuple.http(2, 2, "/b", 7L, "", false),
                    unanswered(3, 3, "/a")))
            .get(0)
            .get("rows");
    assertThat(values(rows)).containsExactlyInAnyOrder("/a = 5", "/b = null");
  }

  @ParameterizedTest(name = "response_time_ns {0} {1}: {2}")
  @CsvSource({
    "EQUAL, 0, 0",
    "NOT_EQUAL, 0, 10",
    "NOT_EQUAL, 100000000, 5",
    "LESS, 1000000000, 10",
    "GREATER_OR_EQUAL, 0, 10",
  })
  void noComparisonIsTrueWithoutAValue(Order order, long value, int kept) throws Exception {
    Plan plan =
        plan(Plans.counts("COUNT", "", WINDOW)).toBuilder()
            .addFilters(Conditions.of(compared("response_time_ns", order, value), "http_get"))
            .build();
    List<JsonNode> windows = windows(plan, partlyUnanswered(0));
    assertThat(windows).hasSize(kept == 0 ? 0 : 1);
    for (JsonNode window : windows) {
      assertThat(window.at("/rows/0/value").asLong()).isEqualTo(kept);
      assertThat(window.at("/completeness/unanswered").asLong()).isZero();
      assertThat(window.at("/completeness/tuples").asLong()).isEqualTo(27);
    }
  }

  @Test
  void rowsKeptByWhereKeepTheirBitmap() throws Exception {
    Plan plan =
        plan(Plans.group("AVG", "\"url\"", WINDOW)).toBuilder()
            .addFilters(Conditions.of(text("partial", "request"), "http_get"))
            .build();
    JsonNode rows = windows(plan, partlyUnanswered(0)).get(0).get("rows");
    assertThat(values(rows)).containsExactly("/dead = null", "/slow = null");
    assertThat(column(rows, "unanswered")).containsExactly("4", "10");
  }

  @Test
  void aKeyWithoutAValueIsASeparateGroup() throws Exception {
    List<Tuple> tuples =
        List.of(
            Tuple.http(1, 1, null, 1L, "response", false),
            Tuple.http(2, 2, "", 2L, "", false),
            Tuple.http(3, 3, null, 3L, "response", false),
            Tuple.http(4, 4, "-", 4L, "", false));
    for (String key : List.of("\"url\"", "\"src_port\",\"url\"", "\"url\",\"dst_port\"")) {
      List<String> urls = new ArrayList<>();
      for (JsonNode row : only(Plans.counts("COUNT", key, WINDOW), tuples).get("rows")) {
        urls.add(row.at("/key/url").toString());
      }
      assertThat(urls).contains("null", "\"\"", "\"-\"");
    }
    JsonNode rows = only(Plans.counts("COUNT", "\"url\"", WINDOW), tuples).get("rows");
    assertThat(values(rows)).containsExactly("null = 2", " = 1", "- = 1");
    JsonNode numbers =
        only(Plans.counts("COUNT", "\"response_time_ns\"", WINDOW), partlyUnanswered(0));
    assertThat(column(numbers.get("rows"), "value")).containsExactly("17", "5", "5");
  }

  @Test
  void distinctCountsIgnoreMissingValues() throws Exception {
    List<Tuple> tuples =
        List.of(
            Tuple.http(1, 1, null, 1L, "response", false),
            Tuple.http(2, 2, "/a", null, "", false),
            Tuple.http(3, 3, "/b", null, "", false));
    JsonNode rows = only(Plans.distinct("url", "", WINDOW), tuples).get("rows");
    assertThat(rows.get(0).get("value").asLong()).isEqualTo(2);
  }

  /**
   * Tests sliding windows while panes enter and leave them, with a restart of all operators in
   * between.
   */
  @Test
  void slidingWindowsDropMissingValuesWithTheirPane() throws Exception {
    String sliding = "\"size\":\"2s\",\"slide\":\"1s\"";
    Plan plan =
        plan(
            Plans.group("AVG", "\"url\"", sliding)
                + ","
                + Plans.group("DISTRIBUTION", "\"url\"", "\"slide\":\"1s\""));
    try (Pipeline pipeline = new Pipeline(plan, JobOptions.defaults())) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      for (int second = 0; second < 4; second++) {
        List<Tuple> tuples = second == 2 ? List.of() : partlyUnanswered(second * SECOND);
        pipeline.feed(0, monitor.batch((second + 1) * SECOND, tuples).toByteArray());
        pipeline.restart(1 + second % 2);
      }
      pipeline.feed(0, monitor.end(4 * SECOND).toByteArray());
      List<String> unanswered = new ArrayList<>();
      for (JsonNode window : pipeline.windows(0)) {
        assertThat(values(window.get("rows"))).containsExactly("/slow = 1.02E8", "/dead = null");
        unanswered.add(
            String.join(" ", column(window.get("rows"), "unanswered"))
                + " of "
                + window.at("/completeness/unanswered").asLong());
      }
      assertThat(unanswered)
          .containsExactly("10 4 of 14", "20 8 of 28", "10 4 of 14", "10 4 of 14", "10 4 of 14");
      List<JsonNode> wholeNodes = pipeline.windows(1);
      JsonNode last = wholeNodes.get(wholeNodes.size() - 1);
      assertThat(last.at("/rows/0/distribution/count").asLong()).isEqualTo(30);
      assertThat(last.at("/rows/0/unanswered").asLong()).isEqualTo(30);
      assertThat(last.at("/rows/1/unanswered").asLong()).isEqualTo(12);
      assertThat(pipeline.totals())
          .containsEntry("unanswered", "42")
          .containsEntry("half_seen", "9");
    }
  }

  @Test
  void countsOfSampledFlowsAreScaledUp() throws Exception {
    Plan plan = plan(Plans.group("AVG", "\"url\"", WINDOW));
    try (Pipeline pipeline = new Pipeline(plan, JobOptions.defaults())) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 0.25);
      pipeline.feed(0, monitor.batch(SECOND, partlyUnanswered(0)).toByteArray());
      pipeline.feed(0, monitor.end(SECOND).toByteArray());
      JsonNode window = pipeline.windows(0).get(0);
      assertThat(window.at("/rows/0/value").asDouble()).isEqualTo(102.0 * MS);
      assertThat(window.at("/rows/0/unanswered").asDouble()).isEqualTo(40);
      assertThat(window.at("/rows/0/half_seen").asDouble()).isEqualTo(12);
      assertThat(window.at("/rows/1/value").isNull()).isTrue();
      assertThat(window.at("/rows/1/unanswered").asDouble()).isEqualTo(16);
      assertThat(window.at("/completeness/unanswered").asLong()).as("as captured").isEqualTo(14);
    }
  }

  /**
   * Tests that joined tuples and waiting values survive a restart, and that absent ones stay
   * absent.
   */
  @Test
  void joinedTuplesKeepTheirMissingValues() throws Exception {
    String join =
        """
        {"name":"join","parser":"http_get","join":{"parser":"tcp_conn_time","fields":["event"]},
         "key":["event"],"value":{"field":"response_time_ns","unit":"ns"},"aggregate":"AVG",
         "window":{%s},"answers":true}"""
            .formatted(WINDOW);
    try (Pipeline pipeline = new Pipeline(Plans.plan("q", 1, join), JobOptions.defaults())) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      List<Tuple> events = new ArrayList<>();
      for (int flow = 1; flow <= 3; flow++) {
        events.add(new Tuple("tcp_conn_time", flow, flow, event(flow == 3 ? null : "syn")));
      }
      pipeline.feed(0, monitor.batch(0, events).toByteArray());
      List<Tuple> requests =
          List.of(
              Tuple.http(10, 1, "/a", 7L, "", false),
              unanswered(11, 2, "/a"),
              Tuple.http(12, 3, "/a", null, "request", false));
      pipeline.feed(0, monitor.batch(0, requests).toByteArray());
      pipeline.restart(1);
      pipeline.feed(0, monitor.end(SECOND).toByteArray());
      JsonNode window = pipeline.windows(0).get(0);
      assertThat(window.at("/rows/0/key/event").asText()).isEqualTo("syn");
      assertThat(window.at("/rows/0/value").asDouble()).isEqualTo(7);
      assertThat(window.at("/rows/0/unanswered").asLong()).isEqualTo(1);
      assertThat(window.at("/rows/1/key/event").isNull()).isTrue();
      assertThat(window.at("/rows/1/value").isNull()).isTrue();
      assertThat(window.at("/rows/1/half_seen").asLong()).isEqualTo(1);
      assertThat(window.at("/completeness/unanswered").asLong()).isEqualTo(1);
    }
  }

  private static Map<String, Object> event(String name) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("event", name);
    fields.put("certain_after_ns", null);
    return fields;
  }

  /** Tests more groups than the maximum: every tuple must be in a row or counted as dropped. */
  @Test
  void tuplesWithoutAValueCountTowardsTheBound() throws Exception {
    Plan plan = plan(Plans.group("AVG", "\"url\"", WINDOW));
    try (Pipeline pipeline = new Pipeline(plan, JobOptions.defaults().withBounds(1, 10, 20))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      List<Tuple> tuples = new ArrayList<>();
      for (int i = 0; i < 1000; i++) {
        tuples.add(unanswered(i, i, "/" + i));
      }
      pipeline.feed(0, monitor.batch(0, tuples).toByteArray());
      pipeline.feed(0, monitor.end(SECOND).toByteArray());
      long rows = pipeline.windows(0).get(0).get("rows").size();
      assertThat(pipeline.dropped("key_overflow") + pipeline.dropped("rows_omitted") + rows)
          .isEqualTo(1000);
    }
  }

  @Test
  void aBatchWithoutTimesOfItsRowsIsRejected() throws Exception {
    Plan plan = plan(Plans.counts("COUNT", "", WINDOW));
    try (Pipeline pipeline = new Pipeline(plan, JobOptions.defaults())) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      var batch = monitor.batch(0, List.of(Tuple.http(1, 1, "/a", 1))).toBuilder();
      batch.getColumnsBuilder(0).setPresent(ByteString.copyFrom(new byte[] {0}));
      pipeline.feed(0, batch.build().toByteArray());
      pipeline.feed(0, monitor.end(SECOND).toByteArray());
      assertThat(pipeline.dropped("malformed_batch")).isEqualTo(1);
    }
  }

  private static String asked(String aggregate, ConditionTree condition) throws Exception {
    return """
        {"name":"asked","parser":"http_get","key":["url"],"value":{"condition":%s},
         "aggregate":"%s","window":{%s}}"""
        .formatted(JsonFormat.printer().print(condition), aggregate, WINDOW);
  }

  /** Returns a plan whose processors all count unanswered and half-seen requests. */
  private static Plan plan(String processors) {
    Plan.Builder plan = Plans.plan("q", 1, processors).toBuilder();
    plan.getProcessorsBuilderList().forEach(processor -> processor.setAnswers(true));
    return plan.build();
  }

  private static JsonNode only(String processor, List<Tuple> tuples) throws Exception {
    List<JsonNode> windows = windows(plan(processor), tuples);
    assertThat(windows).hasSize(1);
    return windows.get(0);
  }

  /** Returns the windows that result from one batch per second. */
  @SafeVarargs
  private static List<JsonNode> windows(Plan plan, List<Tuple>... seconds) throws Exception {
    try (Pipeline pipeline = new Pipeline(plan, JobOptions.defaults())) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      for (int i = 0; i < seconds.length; i++) {
        pipeline.feed(0, monitor.batch((i + 1) * SECOND, seconds[i]).toByteArray());
      }
      pipeline.feed(0, monitor.end(seconds.length * SECOND).toByteArray());
      return pipeline.windows(0);
    }
  }

  private static List<String> column(JsonNode rows, String field) {
    List<String> values = new ArrayList<>();
    rows.forEach(row -> values.add(row.get(field).asText()));
    return values;
  }

  private static List<String> values(JsonNode rows) {
    List<String> values = new ArrayList<>();
    for (JsonNode row : rows) {
      values.add(row.at("/key/url").asText() + " = " + row.get("value").asText());
    }
    return values;
  }
}
