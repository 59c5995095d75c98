package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.packets.TriggerValues;
import io.tapline.schema.proto.Operand;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Processor;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests triggers on tuples whose conditions compare several values. */
class GroupExpressionsTest {
  private static String query(String arguments) {
    return "PARSE http_get TO h1:80 SAMPLE * PROCESS (trigger: %s)".formatted(arguments);
  }

  private static Plan plan(String arguments) {
    String text = query(arguments);
    return Fixtures.compile(text)
        .plan()
        .orElseThrow(() -> new AssertionError(Fixtures.errors(text)));
  }

  private static String text(Operand operand) {
    String aggregate = operand.getAggregate().isEmpty() ? "COUNT" : operand.getAggregate();
    String of =
        operand.getValue().hasCondition()
            ? operand.getValue().getConditionText()
            : operand.getValue().getField();
    String share = operand.getShare() == 0 ? "" : "@" + operand.getShare();
    return "%s%s(%s)".formatted(aggregate, share, of);
  }

  private static List<String> operands(Processor processor) {
    return TriggerValues.operands(processor).stream().map(GroupExpressionsTest::text).toList();
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "share(status >= 500) > 0.05 and count > 100 | AVG(status >= 500), COUNT() | 0 0.05 GREATER 1 100.0 GREATER AND | ''",
        "count(status >= 500) / count > 0.05 | SUM(status >= 500), COUNT() | 0 1 DIVIDE 0.05 GREATER | ''",
        "p99(response_time_ns) > 2 * p50(response_time_ns) | PERCENTILE@0.99(response_time_ns), PERCENTILE@0.5(response_time_ns) | 0 2.0 1 MULTIPLY GREATER | ns",
        "max(response_time_ns) - min(response_time_ns) > 20ms | MAX(response_time_ns), MIN(response_time_ns) | 0 1 SUBTRACT 2.0E7 GREATER | ns",
        "share(status >= 500) > .05 and count > 100 | AVG(status >= 500), COUNT() | 0 0.05 GREATER 1 100.0 GREATER AND | ''",
        "count-flows > -5 | COUNT(), DISTINCT(flow_hash) | 0 1 SUBTRACT -5.0 GREATER | count",
        "count > 5 or count > 3 and flows > 2 | COUNT(), DISTINCT(flow_hash) | 0 5.0 GREATER 0 3.0 GREATER 1 2.0 GREATER AND OR | count",
        "(count(url) > 5 or avg(response_bytes) > 1kB) and rate > 1 | COUNT(url), AVG(response_bytes), RATE() | 0 5.0 GREATER 1 1000.0 GREATER OR 2 1.0 GREATER AND | count",
        "count(status in {500, 503} && url == \\\"/a(b)\\\") > count / 2 | SUM(status = (500, 503) AND url = '/a(b)'), COUNT() | 0 1 2.0 DIVIDE GREATER | count",
        "count(status >= 500) > flows | SUM(status >= 500), DISTINCT(flow_hash) | 0 1 GREATER | count",
        "100 < count | COUNT() | 100.0 0 LESS | ''",
      })
  void conditionsCombineValuesOfTheGroups(String when, String values, String steps, String unit) {
    Processor trigger =
        plan("when=\"%s\", group=dst_ip, every=1s".formatted(when)).getProcessors(0);
    assertThat(String.join(", ", operands(trigger)).replace('"', '\'')).isEqualTo(values);
    assertThat(PacketTriggersTest.text(trigger.getWhenList())).isEqualTo(steps);
    assertThat(trigger.getValue().getUnit()).isEqualTo(unit);
    assertThat(trigger.hasCondition()).isFalse();
    assertThat(trigger.getParser()).isEqualTo("http_get");
    assertThat(trigger.getKeyList()).containsExactly("dst_ip");
  }

  @Test
  void oneComparisonWithANumberRemainsAPlainCondition() {
    Processor trigger = plan("when=\"share(status >= 500) > 0.05\", every=1s").getProcessors(0);
    assertThat(trigger.getWhenCount()).isZero();
    assertThat(trigger.getCondition().getThreshold()).isEqualTo(0.05);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "count > 100, share(status >= 500) < 0.01 | 0 100.0 GREATER | 1 0.01 GREATER_EQUAL",
        "count > .5, count < 3 | 0 0.5 GREATER | 0 3.0 GREATER_EQUAL",
        "avg(status) > -5, count < 3 | 0 -5.0 GREATER | 1 3.0 GREATER_EQUAL",
        "count / flows > 10, 5 | 0 1 DIVIDE 10.0 GREATER | 0 1 DIVIDE 5.0 GREATER",
        "count > 9 and flows > 1, count < 5 or flows < 1 | 0 9.0 GREATER 1 1.0 GREATER AND | 0 5.0 GREATER_EQUAL 1 1.0 GREATER_EQUAL AND",
      })
  void clearIsAThresholdOrACondition(String arguments, String when, String clear) {
    String[] both = arguments.split(", ");
    Processor trigger =
        plan("when=\"%s\", clear=\"%s\", every=1s".formatted(both[0], both[1])).getProcessors(0);
    assertThat(PacketTriggersTest.text(trigger.getWhenList())).isEqualTo(when);
    assertThat(PacketTriggersTest.text(trigger.getClearList())).isEqualTo(clear);
  }

  @Test
  void onlyNarrowsAllValues() {
    Processor trigger =
        plan("when=\"count > 9 and max(response_time_ns) > 1s\", only=\"status >= 500\", every=1s")
            .getProcessors(0);
    assertThat(operands(trigger)).containsExactly("SUM(status >= 500)", "MAX(response_time_ns)");
    assertThat(trigger.getOperands(0).getValue().getOnly().getNodesCount()).isPositive();
    Processor quotient =
        plan("when=\"count / max(response_time_ns) > 2\", only=\"status >= 500\", every=1s")
            .getProcessors(0);
    assertThat(quotient.getValue().getUnit()).isEmpty();
  }

  /** The stream job tests such conditions as well, so their windows are as long as it requires. */
  @Test
  void theMonitorReportsEarlyEvents() {
    assertThat(plan("when=\"count > 9 and flows > 1\", every=100ms").getTupleTriggersList())
        .hasSize(1);
    assertThat(plan("when=\"count > 9 and flows > 1\", every=1s").getTupleTriggersList()).isEmpty();
    assertThat(
            Fixtures.errors(query("when=\"max(response_time_ns) > 9 and count > 1\", every=1ms")))
        .contains("every=1ms is out of range");
  }

  @Test
  void explainShowsTheValuesAndTheCondition() {
    String when =
        "(count > 9 or p57(status) * (2 + 1) > 1) and share(status >= 500) - 1 - (2 - 3) > 0.5";
    Plan plan = plan("when=\"%s\", clear=\"flows < 3\", every=1s".formatted(when));
    String explanation = Explain.render(plan, List.of());
    assertThat(explanation)
        .contains("filter  " + when)
        .contains("hold    while distinct(flow_hash) >= 3")
        .contains("avg     of each group");
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "when=\"count > 1 and\" | when= is not a valid condition",
        "when=\"count > 1 and nonsense(status) > 2\" | unknown aggregate nonsense",
        "when=\"count > 1 and sum(nosuch) > 2\" | nosuch",
        "when=\"count > 1 and share(status >) > 2\" | is not a valid condition on tuples",
        "when=\"1 > 0 and 2 > 1\" | when: it names no value",
        "when=\"count + flows\" | when= is not a valid condition",
        "when=\"count > 1 and avg > 2\" | avg needs a field",
        "when=\"count > 1 and max(status) > 1 and min(status) > 2 and avg(status) > 2 and flows > 1\" | it has more than 4 different values",
        "when=\"count > 1 and flows > 2\", clear=5 | clear= can be a threshold only if when= compares one value",
        "when=\"count > 1 and flows > 2\", clear=nonsense | clear= is neither a threshold nor a condition",
        "when=\"count > 1 and flows > 2\", only=\"status > 1\" | only= applies only to values of a field",
      })
  void invalidConditionsAreErrors(String arguments, String error) {
    assertThat(Fixtures.errors(query(arguments + ", every=1s"))).contains(error);
  }

  @Test
  void valuesOfTwoParsersAreAnError() {
    String text =
        "PARSE http_get, tcp_pkt_size TO h1:80 SAMPLE * PROCESS (trigger: when=\"count(status >= 500) > 1 and sum(bytes) > 2\", every=1s)";
    assertThat(Fixtures.errors(text))
        .contains("it compares tuples of http_get and of tcp_pkt_size");
  }

  @Test
  void packetsOfIntervalParsersAreNamedInstead() {
    String text =
        "PARSE tcp_pkt_size TO h1:80 SAMPLE * PROCESS (trigger: when=\"sum(bytes) > 1 and count > 2\", every=10ms)";
    assertThat(Fixtures.errors(text)).contains("PARSE packets supports both");
  }

  @Test
  void filtersCompareOneValue() {
    String text =
        "PARSE http_get TO h1:80 SAMPLE * PROCESS (filter: when=\"count > 1 and flows > 2\")";
    assertThat(Fixtures.errors(text))
        .contains("when= can only compare one value with a number here");
  }

  @ParameterizedTest
  @ValueSource(strings = {"count > 1 and flows > 2", "share(x == 1) / count > 2"})
  void conditionsAreCheckedWithoutFields(String when) {
    String text =
        query("when=\"%s\", every=1s".formatted(when)).replace("http_get", "no_such_parser");
    assertThat(Fixtures.errors(text)).contains("no_such_parser").doesNotContain("condition");
  }
}
