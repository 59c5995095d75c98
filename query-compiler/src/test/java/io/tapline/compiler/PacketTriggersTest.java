package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.util.Durations;
import io.tapline.schema.proto.Condition;
import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.PrefixLength;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Value;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PacketTriggersTest {
  private static final String SHORT =
      "(trigger: when=\"sum(bytes) > 50KB\", group=src_ip, every=10ms)";

  private static Plan plan(String text) {
    return Fixtures.compile(text)
        .plan()
        .orElseThrow(() -> new AssertionError(Fixtures.errors(text)));
  }

  @Test
  void aShortWindowIsTestedByTheMonitor() {
    Plan plan = plan("PARSE tcp_pkt_size TO h1 SAMPLE * PROCESS (top-k), " + SHORT);
    assertThat(plan.getParsersList()).containsExactly("tcp_pkt_size", "trigger");
    assertThat(plan.getTriggersList()).hasSize(1);
    PacketTrigger trigger = plan.getTriggers(0);
    assertThat(trigger.getProcessor()).isEqualTo(1);
    assertThat(trigger.getParser()).isEqualTo("tcp_pkt_size");
    assertThat(trigger.getGroupList()).containsExactly("src_ip");
    assertThat(text(trigger.getWhenList())).isEqualTo("BYTES 50000.0 GREATER");
    assertThat(trigger.getClearList()).isEmpty();
    assertThat(trigger.getAfter()).isEqualTo(1);
    assertThat(Durations.toMillis(trigger.getEvery())).isEqualTo(10);
    assertThat(trigger.hasFilter()).isFalse();
  }

  /** Returns the steps of a condition, separated by spaces. */
  static String text(List<ConditionStep> steps) {
    return steps.stream()
        .map(
            step ->
                switch (step.getKindCase()) {
                  case MEASURE -> step.getMeasure().name();
                  case QUANTILE ->
                      step.getQuantile().getMeasure() + "@" + step.getQuantile().getShare();
                  case CONSTANT -> Double.toString(step.getConstant());
                  case OPERAND -> Integer.toString(step.getOperand());
                  default -> step.getOperator().name();
                })
        .collect(Collectors.joining(" "));
  }

  @Test
  void aGroupThatFellSilentMeetsASumBelowANumber() {
    Plan plan =
        plan("PARSE tcp_pkt_size TO h1 SAMPLE * PROCESS " + SHORT.replace("> 50KB", "< 50KB"));
    assertThat(text(plan.getTriggers(0).getWhenList())).isEqualTo("BYTES 50000.0 LESS");
    Condition shownCondition = plan.getProcessors(0).getCondition();
    assertThat(shownCondition.getComparison()).isEqualTo(Condition.Comparison.AT_LEAST);
    assertThat(shownCondition.getThreshold()).isEqualTo(-Double.MAX_VALUE);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "flows > 100,FLOWS 100.0 GREATER",
    "distinct(dst_port) >= 50,DISTINCT_DST_PORT 50.0 GREATER_EQUAL",
    "distinct(src_ip) < 3,DISTINCT_SRC_IP 3.0 LESS",
  })
  void distinctValuesOfTuplesAreThoseOfPackets(String when, String steps) {
    String query =
        "PARSE tcp_pkt_size TO h1 SAMPLE * PROCESS (trigger: when=\"%s\", group=dst_ip, every=10ms)";
    PacketTrigger trigger = plan(query.formatted(when)).getTriggers(0);
    assertThat(text(trigger.getWhenList())).isEqualTo(steps);
  }

  @Test
  void alertsBeginAndEndInTheMonitor() {
    Plan plan =
        plan(
            "PARSE tcp_pkt_size TO h1 SAMPLE * PROCESS (trigger: when=\"sum(bytes) >= 50KB\","
                + " clear=20KB, after=3, cooldown=2ms, group=src_ip, every=10ms)");
    PacketTrigger trigger = plan.getTriggers(0);
    assertThat(text(trigger.getClearList())).isEqualTo("BYTES 20000.0 GREATER_EQUAL");
    assertThat(trigger.getAfter()).isEqualTo(3);
    assertThat(Durations.toMillis(trigger.getCooldown())).isEqualTo(2);
    Processor shownProcessor = plan.getProcessors(0);
    assertThat(shownProcessor.getTrigger().getAfter()).isEqualTo(1);
    assertThat(shownProcessor.getTrigger().hasCooldown()).isFalse();
    assertThat(shownProcessor.getCondition().getComparison())
        .isEqualTo(Condition.Comparison.AT_LEAST);
    assertThat(shownProcessor.getCondition().getThreshold()).isEqualTo(-Double.MAX_VALUE);
    assertThat(shownProcessor.getTrigger().getClear()).isEqualTo(-Double.MAX_VALUE);
  }

  @Test
  void theJobShowsItsGreatestValue() {
    Processor shownProcessor =
        plan("PARSE tcp_pkt_size TO h1 SAMPLE * PROCESS " + SHORT.replace("10ms", "3ms"))
            .getProcessors(0);
    assertThat(shownProcessor.getParser()).isEqualTo("trigger");
    assertThat(shownProcessor.getAggregate()).isEqualTo("MAX");
    assertThat(shownProcessor.getValue().getField()).isEqualTo("value");
    assertThat(shownProcessor.getValue().getUnit()).isEqualTo("bytes");
    assertThat(shownProcessor.getValue().getOnly().getNodesCount()).isEqualTo(1);
    assertThat(shownProcessor.getKeyList()).containsExactly("src_ip");
    assertThat(Durations.toMillis(shownProcessor.getWindow().getSize())).isEqualTo(12);
    assertThat(shownProcessor.getWindow().getSlide())
        .isEqualTo(shownProcessor.getWindow().getSize());
    assertThat(shownProcessor.hasTrigger()).isTrue();
  }

  @Test
  void windowsMayOverlap() {
    Plan plan =
        plan(
            "PARSE tcp_pkt_size TO h1 SAMPLE * PROCESS "
                + SHORT.replace("every=10ms", "every=10ms, w=1s"));
    PacketTrigger trigger = plan.getTriggers(0);
    assertThat(Durations.toMillis(trigger.getEvery())).isEqualTo(10);
    assertThat(Durations.toMillis(trigger.getWindow())).isEqualTo(1000);
    assertThat(Durations.toMillis(plan.getProcessors(0).getWindow().getSize())).isEqualTo(10);
    assertThat(Explain.render(plan, List.of()))
        .contains(
            "in windows of 1s every 10ms, because every= is shorter than the interval of"
                + " tcp_pkt_size")
        .contains("70 more for each further every= that a longer window spans");
    assertThat(
            plan("PARSE tcp_pkt_size TO h1 SAMPLE * PROCESS " + SHORT).getTriggers(0).hasWindow())
        .isFalse();
  }

  @Test
  void windowsThatTuplesFillStayInTheJob() {
    Plan plan = plan("PARSE tcp_pkt_size TO h1 SAMPLE * PROCESS " + SHORT.replace("10ms", "1s"));
    assertThat(plan.getTriggersList()).isEmpty();
    assertThat(plan.getParsersList()).containsExactly("tcp_pkt_size");
    assertThat(plan.getProcessors(0).getParser()).isEqualTo("tcp_pkt_size");
  }

  @Test
  void whereFiltersPackets() {
    String query = "PARSE tcp_pkt_size TO h1 SAMPLE * WHERE %s PROCESS " + SHORT;
    PacketTrigger trigger =
        plan(ordered(query, "src_ip = 10.0.0.0/8 AND dst_port = (53, 5353)")).getTriggers(0);
    assertThat(trigger.getFilter().getNodesCount()).isEqualTo(3);
    assertThat(Fixtures.errors(ordered(query, "src_ip != 10.0.0.1")))
        .contains("addresses and ports by AND");
    assertThat(Fixtures.errors(ordered(query, "bytes > 1000")))
        .contains("addresses and ports by AND");
    assertThat(Fixtures.errors(ordered(query, "src_port = 1 OR dst_port = 1")))
        .contains("addresses and ports by AND");
  }

  /** Moves WHERE before SAMPLE, as the language requires. */
  private static String ordered(String query, String where) {
    return query.replace(" SAMPLE * WHERE %s", " WHERE " + where + " SAMPLE *");
  }

  @ParameterizedTest(name = "{0} {1} {2}")
  @CsvSource(
      delimiter = '|',
      value = {
        "tcp_conn_time, tcp_flow_key | SAMPLE * | when=\"count > 3\", every=10ms | count packets",
        "tcp_pkt_size | SAMPLE * | when=\"count > 3\", every=10ms | does not compare a sum of bytes or packets",
        "tcp_pkt_size | SAMPLE * | when=\"max(bytes) > 3\", every=10ms | does not compare a sum of bytes or packets",
        "tcp_pkt_size | SAMPLE * | when=\"sum(bytes) > 3\", group=flow_hash, every=10ms | addresses and ports",
        "tcp_pkt_size | SAMPLE * | when=\"sum(bytes) > 3\", every=10ms, w=25ms | w= is not a multiple of every=",
        "tcp_pkt_size | SAMPLE * | when=\"sum(bytes) > 3\", every=10ms, w=1010ms | w= is longer than 100 times every=",
        "tcp_pkt_size | SAMPLE 0.5 | when=\"sum(bytes) > 3\", every=10ms | sampling may exclude flows",
        "tcp_pkt_size | SAMPLE auto | when=\"sum(bytes) > 3\", every=10ms | sampling may exclude flows",
        "http_get | SAMPLE * | when=\"count > 3\", every=1ms | every=1ms is out of range",
        "tcp_pkt_size | SAMPLE * | when=\"sum(bytes) > 3\", every=0.5ms | every=0.5ms is out of range",
      })
  void triggersThatTheMonitorCantTestAreRefusedWithTheReason(
      String parsers, String sample, String arguments, String message) {
    String parser = parsers.contains("tcp_flow_key") ? "tcp_flow_key" : parsers;
    String query = "PARSE %s TO h1 %s PROCESS (trigger: %s)".formatted(parser, sample, arguments);
    assertThat(Fixtures.errors(query)).contains(message);
  }

  private static String trigger(String arguments) {
    return "PARSE tcp_pkt_size TO h1 SAMPLE * PROCESS (trigger: when=\"sum(bytes) > 3\", %s, every=10ms)"
        .formatted(arguments);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "src_ip/24,src_ip,24,128",
    "srcIP/64,src_ip,32,64",
    "dst_ip/24/48,dst_ip,24,48",
    "dst_ip/32/32,dst_ip,32,32",
    "src_ip/1,src_ip,1,128",
  })
  void addressesAreGroupedByNetwork(String group, String field, int ipv4, int ipv6) {
    Plan plan = plan(trigger("group=(" + group + ", dst_port)"));
    PacketTrigger trigger = plan.getTriggers(0);
    assertThat(trigger.getGroupList()).containsExactly(field, "dst_port");
    PrefixLength expected =
        PrefixLength.newBuilder().setField(field).setIpv4(ipv4).setIpv6(ipv6).build();
    assertThat(trigger.getNetworksList()).containsExactly(expected);
    assertThat(plan.getProcessors(0).getNetworksList()).containsExactly(expected);
  }

  @Test
  void aWholeAddressIsNotANetwork() {
    assertThat(plan(trigger("group=src_ip/32")).getTriggers(0).getNetworksList()).isEmpty();
    assertThat(plan(trigger("group=src_ip/128")).getTriggers(0).getNetworksList()).isEmpty();
  }

  @Test
  void groupByFlowUsesAddressesAndPorts() {
    assertThat(plan(trigger("group=flow")).getTriggers(0).getGroupList())
        .containsExactly("src_ip", "src_port", "dst_ip", "dst_port");
    assertThat(Fixtures.errors(trigger("group=(flow, src_ip)"))).contains("src_ip is listed twice");
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "group=src_ip/0 | has no valid prefix length",
        "group=src_ip/129 | has no valid prefix length",
        "group=src_ip/33/64 | has no valid prefix length",
        "group=src_ip/24/129 | has no valid prefix length",
        "group=src_ip/24/64/8 | has no valid prefix length",
        "group=src_ip/x | has no valid prefix length",
        "group=src_ip/99999999999 | has no valid prefix length",
        "group=dst_port/8 | is not an address",
        "group=(src_ip/24, src_ip/16) | src_ip is listed twice",
        "only=\"dst_port in {80\" | only= is not a valid condition",
        "only=\"\" | only= is not a valid condition",
        "only=\"status = 200\" | tcp_pkt_size has no field",
        "only=\"dst_port = 1.2.3.4\" | dst_port",
        "only=\"src_ip != 10.0.0.1\" | only= must join comparisons",
        "only=\"bytes > 1000\" | only= must join comparisons",
        "only=\"src_port = 1 or dst_port = 1\" | only= must join comparisons",
      })
  void wrongGroupsAndConditionsAreReported(String argument, String message) {
    assertThat(Fixtures.errors(trigger(argument))).contains(message);
  }

  @Test
  void theArgumentOnlyNarrowsATriggerOfTheMonitor() {
    String only = "only=\"src_ip in 10.1.0.0/16 && dst_port in {80, 443}\", group=src_ip/24";
    Plan plan = plan(trigger(only));
    assertThat(plan.getTriggers(0).getFilter().getNodesCount()).isEqualTo(3);
    assertThat(plan.getFiltersList()).isEmpty();
    assertThat(Explain.render(plan, List.of()))
        .contains("in the monitor, on packets with src_ip")
        .contains("grouped by src_ip/24, because windows of 10ms")
        .contains("by src_ip/24");
  }

  @Test
  void theArgumentOnlyNarrowsATriggerOfTheJob() {
    String query =
        "PARSE tcp_pkt_size TO h1 PROCESS (trigger: when=\"%s\", only=\"dst_port = 80\")";
    Plan plan = plan(query.formatted("sum(bytes) > 3"));
    assertThat(plan.getTriggersList()).isEmpty();
    assertThat(plan.getProcessors(0).getValue().getOnly().getNodesCount()).isEqualTo(1);
    assertThat(Explain.render(plan, List.of())).contains("only    dst_port = 80");
    Value countedValue = plan(query.formatted("count > 3")).getProcessors(0).getValue();
    assertThat(countedValue.getConditionText()).isEqualTo("dst_port = 80");
    assertThat(Fixtures.errors(query.formatted("rate > 3")))
        .contains("values of a field and counts of tuples");
  }

  @Test
  void theJobDoesNotGroupByNetwork() {
    String query = "PARSE %s TO h1 PROCESS (%s: group=src_ip/24)";
    assertThat(Fixtures.errors(query.formatted("tcp_pkt_size", "trigger")))
        .contains("only the monitor can group by network")
        .contains("every= shorter than the interval of tcp_pkt_size");
    assertThat(Fixtures.errors(query.formatted("http_get", "trigger")))
        .contains("a trigger on tcp_pkt_size or udp_flow");
    assertThat(Fixtures.errors(query.formatted("http_get", "group-count")))
        .contains("only triggers can group by networks");
  }

  @Test
  void networksAreFormattedAsWritten() {
    Formatter.Result result = Formatter.format(trigger("group=(src_ip / 24, dst_port)"));
    assertThat(result.text()).contains("group=(src_ip/24, dst_port)");
  }

  private static CompileResult overTwoMonitors(String processors) {
    Placement two =
        match ->
            new Placement.Placed(
                List.of(
                    Monitor.newBuilder().setId("a").build(),
                    Monitor.newBuilder().setId("b").setPartition(1).build()),
                List.of());
    Compiler.Options options = new Compiler.Options("q-test", 1, Fixtures.OPTIONS.rights(), two);
    return Compiler.compile(
        "PARSE packets TO h1 SAMPLE * PROCESS " + processors,
        Fixtures.CATALOGUE,
        Fixtures.INVENTORY,
        options);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "sum(bytes) > 50KB,SUM,ABOVE,50000",
    "count(syn) >= 100,SUM,AT_LEAST,100",
    "rate(bytes) / 2 + sum(payload_bytes) * 3 > 9,SUM,ABOVE,9",
    "sum(bytes) - 1500 * count > 0,SUM,ABOVE,0",
    "max(bytes) > 1400,MAX,ABOVE,1400",
    "min(rtt_ns) > 20ms,MIN,ABOVE,20000000",
  })
  void theJobCombinesTheValuesOfSeveralMonitors(
      String when, String aggregate, Condition.Comparison comparison, double threshold) {
    Plan plan =
        overTwoMonitors(
                "(trigger: when=\"%s\", group=src_ip, every=10ms, w=30ms, after=2, cooldown=50ms)"
                    .formatted(when))
            .plan()
            .orElseThrow();
    PacketTrigger trigger = plan.getTriggers(0);
    assertThat(trigger.getPartial()).isTrue();
    assertThat(trigger.getAfter()).isZero();
    assertThat(trigger.hasCooldown()).isFalse();
    assertThat(trigger.hasWindow()).isFalse();
    assertThat(Durations.toMillis(trigger.getEvery())).isEqualTo(10);
    Processor job = plan.getProcessors(0);
    assertThat(job.getParser()).isEqualTo("trigger");
    assertThat(job.getAggregate()).isEqualTo(aggregate);
    assertThat(job.getCondition().getComparison()).isEqualTo(comparison);
    assertThat(job.getCondition().getThreshold()).isEqualTo(threshold);
    assertThat(job.getTrigger().getClear()).isEqualTo(threshold);
    assertThat(job.getTrigger().getAfter()).isEqualTo(2);
    assertThat(Durations.toMillis(job.getTrigger().getCooldown())).isEqualTo(50);
    assertThat(Durations.toMillis(job.getWindow().getSize())).isEqualTo(30);
    assertThat(Durations.toMillis(job.getWindow().getSlide())).isEqualTo(10);
    assertThat(plan.getTupleTriggersList()).isEmpty();
    assertThat(Explain.render(plan, List.of()))
        .contains(
            "processor 1: in the stream job, which combines the values that 2 monitors compute from"
                + " packets, in windows of 30ms every 10ms");
  }

  @Test
  void anAlertOverSeveralMonitorsEndsBelowItsThreshold() {
    Plan plan =
        overTwoMonitors("(trigger: when=\"sum(bytes) > 5MB\", clear=2MB, every=10ms)")
            .plan()
            .orElseThrow();
    assertThat(plan.getTriggers(0).getClearList()).isEmpty();
    assertThat(plan.getProcessors(0).getTrigger().getClear()).isEqualTo(2e6);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "when=\"share(syn) > 0.5\"",
    "when=\"sum(bytes) < 50KB\"",
    "when=\"count + 10 > 50\"",
    "when=\"sum(bytes) * count > 50\"",
    "when=\"100 / count > 50\"",
    "when=\"max(bytes) - count > 5\"",
    "when=\"count > 5 and sum(bytes) > 5\"",
    "when=\"5 < count\"",
    "when=\"flows > 100\"",
    "when=\"p99(bytes) > 100\"",
    "'when=\"burst(bytes, 80us) > 100\"'",
    "'when=\"count > 100\", clear=\"sum(bytes) < 5\"'",
  })
  void someValuesOfSeveralMonitorsCannotBeCombined(String arguments) {
    CompileResult result = overTwoMonitors("(trigger: %s, every=10ms)".formatted(arguments));
    assertThat(result.plan()).isEmpty();
    assertThat(result.errors())
        .singleElement()
        .asString()
        .contains("2 monitors capture this trigger's packets, and only a sum");
  }

  @Test
  void theJobCombinesNoWindowsBelowTenMilliseconds() {
    CompileResult result = overTwoMonitors("(trigger: when=\"count > 5\", every=5ms)");
    assertThat(result.errors()).singleElement().asString().contains("in windows of 10ms or more");
  }

  @Test
  void explainShowsWhereAndWhyEachTriggerRuns() {
    String query =
        "PARSE tcp_pkt_size, http_get TO h1 SAMPLE * PROCESS %s, (trigger: when=\"count > 3\")";
    CompileResult result = Fixtures.compile(query.formatted(SHORT));
    assertThat(Explain.render(result.plan().orElseThrow(), List.of()))
        .contains(
            "processor 1: in the monitor, on packets, because windows of 10ms are shorter than the"
                + " interval of tcp_pkt_size")
        .contains("processor 2: in the stream job, on tuples of ");
  }
}
