package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.access.Rights;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.ParserArgument;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Sampling;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests parsers that must see all packets, such as {@code link_load}. */
class AllTrafficTest {
  private static final String LINK_LOAD =
      """
      ,{"name": "link_load", "layer": "transport", "main_fields": ["switch", "port"],
        "value_field": "bits_per_second", "duration": null, "interval_ns": 1000000000,
        "interval_argument": "every", "all_traffic": true,
        "arguments": [
          {"name": "link", "type": "u64", "unit": "bits/s", "default": "0", "min": 0, "max": 1e12},
          {"name": "every", "type": "i64", "unit": "ns", "default": "1000000000", "min": 100000,
           "max": 10000000000, "step": 1000},
          {"name": "flows_above", "type": "f64", "unit": "", "default": "0", "min": 0, "max": 1}],
        "fields": [
          {"name": "time_ns", "type": "i64", "unit": "ns", "common": true},
          {"name": "switch", "type": "string", "optional": true},
          {"name": "port", "type": "string", "optional": true},
          {"name": "bits_per_second", "type": "u64", "unit": "bits/s", "optional": true},
          {"name": "share", "type": "f64", "unit": "share", "optional": true}]}
      ]}
      """;

  /** The test catalogue with link_load. */
  static final Catalogue CATALOGUE = catalogue();

  private static final String LOADS = " PROCESS (group-max: by=share, group=(switch, port), w=1s)";

  private static Catalogue catalogue() {
    String json = Fixtures.resource("parsers.json").strip();
    return Catalogue.fromJson(json.substring(0, json.length() - "]}".length()) + LINK_LOAD);
  }

  private static CompileResult compile(String query, Rights rights) {
    return Compiler.compile(
        query + LOADS, CATALOGUE, Fixtures.INVENTORY, Compiler.Options.local("q-test", rights));
  }

  private static CompileResult compile(String query) {
    return compile(query, Rights.ALL);
  }

  private static Plan plan(String query) {
    CompileResult result = compile(query);
    assertThat(result.errors()).isEmpty();
    return result.plan().orElseThrow();
  }

  @Test
  void aQueryOfLinkLoadsCompiles() {
    Plan plan = plan("PARSE link_load(link=10000000000) FROM * TO * LIMIT 10s SAMPLE *");
    assertThat(plan.getSampling().getMode()).isEqualTo(Sampling.Mode.OFF);
    assertThat(plan.getArgumentsList())
        .extracting(ParserArgument::getValue)
        .containsExactly("10000000000", "1000000000", "0");
    assertThat(plan.getProcessors(0).getKeyList()).containsExactly("switch", "port");
    assertThat(plan.getProcessors(0).getValue().getField()).isEqualTo("share");
    assertThat(plan.getProcessors(0).getAggregate()).isEqualTo("MAX");
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {"flows_above=0.9 -> true", "link=1000, flows_above=0.9 -> false", "link=0 -> false"})
  void flowsAboveAShareNeedTheSpeedOfTheLink(String arguments, boolean warned) {
    CompileResult result =
        compile("PARSE link_load(%s) FROM * TO * LIMIT 10s SAMPLE *".formatted(arguments));
    assertThat(result.errors()).isEmpty();
    assertThat(
            result.notes().stream()
                .anyMatch(note -> note.message().contains("flows_above has no effect")))
        .isEqualTo(warned);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " SAMPLE auto", " SAMPLE 1", " SAMPLE *"})
  void theRateIsNeverLowered(String sample) {
    Sampling sampling = plan("PARSE link_load FROM * TO * LIMIT 10s" + sample).getSampling();
    assertThat(sampling.getMode()).isEqualTo(Sampling.Mode.OFF);
    assertThat(sampling.getRate()).isEqualTo(1);
  }

  @Test
  void aSampleOfTheFlowsIsAnError() {
    List<QueryError> errors = compile("PARSE link_load FROM * TO * LIMIT 10s SAMPLE 0.5").errors();
    assertThat(errors).hasSize(1);
    assertThat(errors.get(0).message())
        .isEqualTo("link_load must see all flows, but SAMPLE drops some");
    assertThat(errors.get(0).expected()).isEqualTo("SAMPLE *");
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "FROM 10.0.0.0/8 TO * -> FROM",
        "FROM * TO 10.0.0.1 -> TO",
        "FROM * TO *:80 -> TO",
        "FROM * TO * VLAN 7 -> VLAN",
      })
  void aSelectionIsAnError(String selection, String clause) {
    List<QueryError> errors =
        compile("PARSE link_load " + selection + " LIMIT 10s SAMPLE *").errors();
    assertThat(errors).hasSize(1);
    assertThat(errors.get(0).message())
        .isEqualTo("link_load must see all packets, but %s selects only some".formatted(clause));
  }

  private static CompileResult loads(String every, String processor) {
    String query = "PARSE link_load(every=%s) FROM * TO * LIMIT 10s PROCESS (%s)";
    return Compiler.compile(
        query.formatted(every, processor),
        CATALOGUE,
        Fixtures.INVENTORY,
        Compiler.Options.local("q-test", Rights.ALL));
  }

  @ParameterizedTest
  @CsvSource({"100us, 100000", "1.5ms, 1500000", "1s, 1000000000", "10s, 10000000000"})
  void theIntervalIsAnArgument(String every, String value) {
    Plan plan =
        loads(every, "group-max: by=share, group=(switch, port), w=10s").plan().orElseThrow();
    assertThat(plan.getArguments(1).getName()).isEqualTo("every");
    assertThat(plan.getArguments(1).getValue()).isEqualTo(value);
    assertThat(plan.getArguments(1).getUnit()).isEqualTo("ns");
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "99us -> every=99us is out of range",
        "10001ms -> every=10001ms is out of range",
        "100.5us -> every=100.5us is out of range",
        "0s -> every=0s is out of range",
        "1000000 -> every takes a duration, but '1000000' is a number",
        "fast -> every takes a duration, but 'fast' is a name",
      })
  void wrongIntervalsAreErrors(String every, String message) {
    List<QueryError> errors =
        loads(every, "group-max: by=share, group=(switch, port), w=1s").errors();
    assertThat(errors).extracting(QueryError::message).containsExactly(message);
    assertThat(errors.get(0).expected()).isEqualTo("a duration from 100us to 10s, in steps of 1us");
  }

  @Test
  void windowsAreNoShorterThanTheIntervalOfTheQuery() {
    String trigger = "trigger: when=\"max(share) > 0.9\", group=(switch, port), every=%s";
    assertThat(loads("10ms", trigger.formatted("10ms")).errors()).isEmpty();
    assertThat(loads("1ms", "group-max: by=share, group=(switch, port), w=1s").errors()).isEmpty();
    QueryError shorter =
        loads("5s", "group-max: by=share, group=(switch, port), w=1s").errors().get(0);
    assertThat(shorter.message())
        .isEqualTo(
            "link_load emits tuples once every 5s: w must be at least 5s, since a shorter window gets either all of an interval's tuples or none");
    assertThat(shorter.expected())
        .isEqualTo("5s to 24h, or a shorter interval: link_load(every=…)");
    QueryError tooFast = loads("50ms", trigger.formatted("10ms")).errors().get(0);
    assertThat(tooFast.message()).startsWith("link_load emits tuples once every 50ms");
  }

  @Test
  void theRightToNetworkWideQueriesIsRequired() {
    Rights rights = new Rights("shop", false, Rights.ALL.scope());
    List<QueryError> errors =
        compile("PARSE link_load FROM * TO * LIMIT 10s SAMPLE *", rights).errors();
    assertThat(errors).extracting(QueryError::code).containsExactly(QueryError.Code.FORBIDDEN);
  }

  @Test
  void otherParsersAreSampled() {
    CompileResult result =
        Fixtures.compile(
            "PARSE tcp_flow_key FROM * TO *:80 LIMIT 9s SAMPLE 0.5 PROCESS (top-k: k=3, w=1s)");
    assertThat(result.plan().orElseThrow().getSampling().getRate()).isEqualTo(0.5);
  }
}
