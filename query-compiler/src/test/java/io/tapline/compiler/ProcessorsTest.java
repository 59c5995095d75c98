package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.compiler.conditions.ConditionPrinter;
import io.tapline.compiler.text.Note;
import io.tapline.schema.proto.Condition;
import io.tapline.schema.proto.Processor;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the keys, values, aggregates and windows that processors and their arguments give. */
class ProcessorsTest {
  /** A non-default value for each argument. */
  private static final Map<String, String> SAMPLES =
      Map.ofEntries(
          Map.entry("k", "3"),
          Map.entry("w", "20s"),
          Map.entry("s", "5s"),
          Map.entry("by", "status"),
          Map.entry("order", "asc"),
          Map.entry("key", "host"),
          Map.entry("agg", "sum"),
          Map.entry("group", "url"),
          Map.entry("of", "host"),
          Map.entry("p", "50"),
          Map.entry("when", "\"max(first_byte_ns) >= 20ms\""),
          Map.entry("only", "\"status >= 500\""),
          Map.entry("every", "20ms"),
          Map.entry("clear", "1"),
          Map.entry("after", "3"),
          Map.entry("cooldown", "5s"),
          Map.entry("severity", "critical"),
          Map.entry("webhook", "\"http://h1/alerts\""),
          Map.entry("topic", "alerts.web"));

  static Stream<Arguments> arguments() {
    return ProcessorCatalogue.all().stream()
        .flatMap(p -> p.arguments().stream().map(a -> Arguments.of(p.name(), a.name())));
  }

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("arguments")
  void everyArgumentTakesEffect(String processor, String argument) {
    assertThat(SAMPLES).containsKey(argument);
    String clause = "(%s: %s=%s)".formatted(processor, argument, SAMPLES.get(argument));
    String parsers = processor.equals("join") ? "http_get, mysql_query" : "http_get";
    assertThat(one(parsers, clause)).isNotEqualTo(one(parsers, "(" + processor + ")"));
  }

  /** Returns the aggregate's name; plans omit it for counts. */
  private static String aggregate(Processor compiled) {
    return compiled.getAggregate().isEmpty() ? "COUNT" : compiled.getAggregate();
  }

  @ParameterizedTest(name = "{0}: {1}")
  @CsvSource(
      delimiter = '|',
      value = {
        "http_get | (top-k) | url | COUNT | ",
        "mysql | (top-k) | statement | COUNT | ",
        "memcached_get | (top-k) | key | COUNT | ",
        "tcp_flow_key | (top-k) | dst_ip,dst_port | COUNT | ",
        "tcp_conn_time, http_get | (top-k) | url | COUNT | ",
        "tcp_conn_time, mysql_query, http_get | (top-k) | statement | COUNT | ",
        "http_get | (top-k: by=response_bytes) | url | SUM | response_bytes",
        "http_get | (top-k: by=response_bytes, order=asc) | url | SUM | response_bytes",
        "http_get | (top-k: by=response_time_ns) | url | MAX | response_time_ns",
        "http_get | (top-k: by=response-time-ns, order=ASC) | url | MIN | response_time_ns",
        "http_get | (top-k: by=response_time_ns, agg=avg) | url | AVG | response_time_ns",
        "http_get | (top-k: agg=sum) | url | SUM | response_bytes",
        "http_get | (top-k: agg=count) | url | COUNT | ",
        "http_get | (top-k: key=(srcIP, destPort)) | src_ip,dst_port | COUNT | ",
        "tcp_conn_time, http_get | (top-k: key=outcome) | outcome | COUNT | ",
        "tcp_pkt_size, http_get | (top-k: by=bytes, key=url) | url | SUM | bytes",
        "mysql_query, http_get | (top-k: by=status) | url | MAX | status",
        "http_get | (diff-group: group=get) | url | DISTRIBUTION | response_time_ns",
        "http_get | (diff-group-avg: group=(host, url)) | host,url | AVG | response_time_ns",
        "mysql_query | (diff-group) | | DISTRIBUTION | response_time_ns",
        "tcp_pkt_size | (group-sum: group=(src_ip, dst_ip)) | src_ip,dst_ip | SUM | bytes",
        "tcp_pkt_size | (group-avg: by=packets) | | AVG | packets",
        "tcp_conn_time, tcp_pkt_size | (group-max: group=dst_ip) | dst_ip | MAX | bytes",
        "http_get | (group-min: group=url, by=first_byte_ns) | url | MIN | first_byte_ns",
        "tcp_conn_time, http_get | (group-count: group=status) | status | COUNT | ",
        "tcp_pkt_size, http_get | (group-sum: group=url) | url | SUM | bytes",
      })
  void processorsHaveTheExpectedKeyAggregateAndValue(
      String parsers, String processor, String key, String aggregate, String field) {
    Processor compiled = one(parsers, processor);
    assertThat(String.join(",", compiled.getKeyList())).isEqualTo(key == null ? "" : key);
    assertThat(aggregate(compiled)).isEqualTo(aggregate);
    assertThat(compiled.getValue().getField()).isEqualTo(field == null ? "" : field);
    assertThat(compiled.getValue().hasCount()).isEqualTo(field == null);
    assertThat(compiled.hasRanking()).isEqualTo(compiled.getName().equals("top-k"));
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "sum(bytes) > 10MB | SUM | bytes | ABOVE | 1e7",
        "count >= 100 | COUNT | | AT_LEAST | 100",
        "count() < 3 | COUNT | | BELOW | 3",
        "rate(bytes) > 1.5MB/s | RATE | bytes | ABOVE | 1.5e6",
        "rate <= 10 | RATE | | AT_MOST | 10",
        "distinct(src-port) > 50 | DISTINCT | src_port | ABOVE | 50",
        "p99(packets) > 20 | PERCENTILE | packets | ABOVE | 20",
        "count(packets) > 20 | COUNT | packets | ABOVE | 20",
      })
  void readsConditions(
      String when,
      String aggregate,
      String field,
      Condition.Comparison comparison,
      double threshold) {
    Processor compiled = one("tcp_pkt_size", "(filter: w=10s, when=\"%s\")".formatted(when));
    assertThat(aggregate(compiled)).isEqualTo(aggregate);
    assertThat(compiled.getValue().getField()).isEqualTo(field == null ? "" : field);
    assertThat(compiled.getCondition().getComparison()).isEqualTo(comparison);
    assertThat(compiled.getCondition().getThreshold()).isEqualTo(threshold);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "(filter: when=\"share(partial = \\\"request\\\") > 0.2\") | AVG | partial = \"request\" | ",
        "(filter: when=\"share(partial = request) > 0.2\") | AVG | partial = \"request\" | ",
        "(filter: when=\"share(unanswered) > 0.2\") | AVG | unanswered = true | ",
        "(filter: when=\"share(half-seen) > 0.2\") | AVG"
            + " | partial != \"\" AND unanswered = false | ",
        "(filter: when=\"share(status = (500, 502) AND response_time_ns > 1s) > 0.2\") | AVG"
            + " | status = (500, 502) AND response_time_ns > 1000000000 | ",
        "(filter: when=\"share(status in {500, 502} or not has(status)) > 0.2\") | AVG"
            + " | status = (500, 502) OR NOT has(status) | ",
        "(filter: when=\"count(status >= 500) > 3\") | SUM | status >= 500 | count",
        "(filter: when=\"sum(unanswered) > 3\") | SUM | unanswered = true | count",
        "(top-k: by=unanswered) | SUM | unanswered = true | count",
        "(top-k: by=half_seen) | SUM | partial != \"\" AND unanswered = false | count",
        "(group-avg: by=unanswered, group=url) | AVG | unanswered = true | ",
        "(rate: by=unanswered) | RATE | unanswered = true | per_second",
      })
  void tuplesAreCountedByConditions(
      String processor, String aggregate, String condition, String unit) {
    Processor compiled = one("http_get", processor);
    assertThat(aggregate(compiled)).isEqualTo(aggregate);
    assertThat(compiled.getValue().getUnit()).isEqualTo(unit == null ? "" : unit);
    assertThat(ConditionPrinter.text(compiled.getValue().getCondition())).isEqualTo(condition);
  }

  @Test
  void conditionsBelongToParsersWithTheirFields() {
    String processor = "(filter: when=\"share(status >= 500 AND url = a) > 0.2\")";
    assertThat(one("tcp_conn_time, mysql_query, http_get", processor).getParser())
        .isEqualTo("http_get");
  }

  @Test
  void plansNameParsersWithAnswers() {
    assertThat(one("http_get", "(top-k)").getAnswers()).isTrue();
    assertThat(one("tcp_pkt_size", "(top-k)").getAnswers()).isFalse();
    assertThat(one("tcp_conn_time, http_get", "(diff-group: group=url)").getAnswers()).isFalse();
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "(trigger: every=1s) | 1000 | 1000",
        "(trigger) | 1000 | 1000",
        "(top-k: w=2s) | 2000 | 1000",
        "(diff-group) | 0 | 10000",
      })
  void windowsCoverTheIntervalOfTheirParser(String processor, long sizeMs, long slideMs) {
    String parser = processor.contains("diff") ? "http_get" : "tcp_pkt_size";
    Processor compiled = one(parser, processor);
    assertThat(Durations.toMillis(compiled.getWindow().getSize())).isEqualTo(sizeMs);
    assertThat(Durations.toMillis(compiled.getWindow().getSlide())).isEqualTo(slideMs);
  }

  @Test
  void defaultsFollowALongInterval() {
    String json = Fixtures.resource("parsers.json").replace("\": 1000000000", "\": 15000000000");
    CompileResult result =
        Compiler.compile(
            "PARSE tcp_pkt_size TO h1 PROCESS (top-k), (trigger)",
            Catalogue.fromJson(json),
            Fixtures.INVENTORY,
            Fixtures.OPTIONS);
    for (Processor processor : result.plan().orElseThrow().getProcessorsList()) {
      assertThat(Durations.toMillis(processor.getWindow().getSize())).isEqualTo(15_000);
      assertThat(Durations.toMillis(processor.getWindow().getSlide())).isEqualTo(15_000);
    }
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "(filter: when=\"bytes > 10MB\") | unknown aggregate bytes",
        "(filter: when=\"sum(bytes)\") | when= is not a valid condition",
        "(filter: when=\"sum > 3\") | sum needs a field",
        "(filter: when=\"sum(nothing) > 3\") | unknown field 'nothing'",
        "(filter: when=\"rate > 3\") | a rate needs a window",
        "(trigger: when=\"count > 3\", clear=many) | clear= is neither a threshold nor a condition",
        "(trigger: every=10s, w=5s) | every=10s is longer than w=5s",
        "(trigger: webhook=\"ftp://h1/\") | webhook can't be",
        "(percentile: p=0) | p=0 is out of range",
        "(join) | join needs the tuples of two parsers",
      })
  void conditionsThatMeanNothingAreErrors(String processor, String message) {
    assertThat(Fixtures.errors("PARSE tcp_pkt_size TO h1 PROCESS " + processor)).contains(message);
  }

  @Test
  void readsTheArgumentsOfTriggers() {
    Processor trigger =
        one(
            "http_get",
            "(trigger: when=\"sum(response_bytes) > 10MB\", clear=8MB, every=10ms, after=3, cooldown=1s)");
    assertThat(Durations.toMillis(trigger.getWindow().getSize())).isEqualTo(10);
    assertThat(Durations.toMillis(trigger.getWindow().getSlide())).isEqualTo(10);
    assertThat(trigger.getTrigger().getClear()).isEqualTo(8e6);
    assertThat(trigger.getTrigger().getAfter()).isEqualTo(3);
    assertThat(trigger.getTrigger().getSeverity()).isEqualTo("warning");
    assertThat(Durations.toMillis(trigger.getTrigger().getCooldown())).isEqualTo(1000);
    assertThat(one("http_get", "(percentile: p=99.9, by=status)").getShare())
        .isEqualTo(0.999, within(1e-12));
  }

  @Test
  void keyFieldsOfAnotherParserAreJoined() {
    Processor mixed = one("tcp_conn_time, http_get", "(diff-group: group=(dst_ip, url, host))");
    assertThat(mixed.getKeyList()).containsExactly("dst_ip", "url", "host");
    assertThat(mixed.getJoin().getParser()).isEqualTo("http_get");
    assertThat(mixed.getJoin().getFieldsList()).containsExactly("url", "host");
    assertThat(mixed.getValue().getUnit()).isEqualTo("ns");
    assertThat(one("tcp_conn_time, http_get", "(diff-group: group=dst_ip)").hasJoin()).isFalse();
  }

  @ParameterizedTest(name = "{0} {1} -> {2} {3}")
  @CsvSource({
    "top-k, '', 10000, 1000",
    "top-k, 'w=1m', 60000, 6000",
    "top-k, 'w=5s', 5000, 1000",
    "top-k, 'w=500ms', 500, 500",
    "top-k, 'w=10s, s=10s', 10000, 10000",
    "top-k, 'w=10s, s=3s', 10000, 3000",
    "top-k, 's=10ms', 10000, 10",
    "top-k, 'w=0.5m', 30000, 3000",
    "diff-group, '', 0, 10000",
    "diff-group, 's=5s', 0, 5000",
    "diff-group, 'w=1m', 60000, 6000",
    "group-sum, 'w=1h, s=1m', 3600000, 60000",
  })
  void readsWindowsAndTheirDefaults(String processor, String arguments, long sizeMs, long slideMs) {
    String text = arguments.isEmpty() ? processor : processor + ": " + arguments;
    Processor compiled = one("http_get", "(" + text + ")");
    assertThat(Durations.toMillis(compiled.getWindow().getSize())).isEqualTo(sizeMs);
    assertThat(compiled.getWindow().hasSize()).isEqualTo(sizeMs > 0);
    assertThat(Durations.toMillis(compiled.getWindow().getSlide())).isEqualTo(slideMs);
  }

  @Test
  void severalProcessorsKeepTheirOrder() {
    CompileResult result =
        Fixtures.compile("PARSE http_get TO h1 PROCESS (top-k), (diff-group), (top-k: k=1)");
    assertThat(result.plan().orElseThrow().getProcessorsList())
        .extracting(Processor::getName)
        .containsExactly("top-k", "diff-group", "top-k");
  }

  @Test
  void notesUselessArgumentsAndPartialRows() {
    assertThat(notes("PARSE http_get, tcp_conn_time TO h1 LIMIT 5s SAMPLE * PROCESS (top-k)"))
        .containsExactly(
            "no processor uses the tuples of tcp_conn_time",
            "the query ends after 5s, before the first window of top-k (10s) is full: its rows will"
                + " be partial");
    assertThat(notes("PARSE http_get TO h1 LIMIT 1m SAMPLE * PROCESS (group-sum: by=status)"))
        .containsExactly(
            "a sum of status is rarely meaningful; did you mean group-avg, group-max or group-min?");
    assertThat(notes("PARSE http_get, http-get TO h1 PROCESS (top-k)"))
        .containsExactly(
            "PARSE names http_get twice",
            "without LIMIT the query runs until it is stopped or its captures end",
            "without SAMPLE, the rate is auto: it keeps every flow (rate 1.0), or fewer while"
                + " tuples can't be sent fast enough");
  }

  private static List<String> notes(String text) {
    return Fixtures.compile(text).notes().stream().map(Note::message).toList();
  }

  private static Processor one(String parsers, String processor) {
    CompileResult result =
        Fixtures.compile("PARSE %s TO h1 PROCESS %s".formatted(parsers, processor));
    assertThat(result.errors()).isEmpty();
    return result.plan().orElseThrow().getProcessors(0);
  }
}
