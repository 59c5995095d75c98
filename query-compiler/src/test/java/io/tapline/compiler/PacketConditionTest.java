package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.util.Durations;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Processor;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests triggers on the parser {@code packets}. */
class PacketConditionTest {
  private static String query(String arguments) {
    return "PARSE packets TO h1 SAMPLE * PROCESS (trigger: %s)".formatted(arguments);
  }

  private static Plan plan(String arguments) {
    String text = query(arguments);
    return Fixtures.compile(text)
        .plan()
        .orElseThrow(() -> new AssertionError(Fixtures.errors(text)));
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "count > 5 | PACKETS 5.0 GREATER | count",
        "sum(bytes) >= 1kB | BYTES 1000.0 GREATER_EQUAL | bytes",
        "count(syn) > 5 | SYN 5.0 GREATER | count",
        "sum(syn-ack) > 5 | SYN_ACK 5.0 GREATER | count",
        "share(rst) > 0.5 | RST PACKETS DIVIDE 0.5 GREATER | ''",
        "avg(rtt_ns) > 20ms | RTT_NS RTT_COUNT DIVIDE 2.0E7 GREATER | ns",
        "avg(bytes) > 90 | BYTES PACKETS DIVIDE 90.0 GREATER | bytes",
        "rate(bytes) > 1MB/s | BYTES 0.01 DIVIDE 1000000.0 GREATER | bytes/s",
        "rate > 100 | PACKETS 0.01 DIVIDE 100.0 GREATER | 1/s",
        "min(rtt_ns) < 1ms | MIN_RTT_NS 1000000.0 LESS | ns",
        "burst(bytes, 100us) > 60KB | BURST 60000.0 GREATER | bytes",
        "sum(bytes) - sum(payload_bytes) > 5 | BYTES PAYLOAD_BYTES SUBTRACT 5.0 GREATER | bytes",
        "sum(unacked_bytes) / sum(in_flight_bytes) > 0.5 | UNACKED_BYTES IN_FLIGHT_BYTES DIVIDE 0.5 GREATER | ''",
        "count > 1 or count(fin) > 2 and count(rst) > 3 | PACKETS 1.0 GREATER FIN 2.0 GREATER RST 3.0 GREATER AND OR | count",
        "(count > 1 OR count(fin) > 2) && count(rst) > 3 | PACKETS 1.0 GREATER FIN 2.0 GREATER OR RST 3.0 GREATER AND | count",
        "2 * (count + count(syn)) > 3 | 2.0 PACKETS SYN ADD MULTIPLY 3.0 GREATER | count",
        "flows > 100 | FLOWS 100.0 GREATER | count",
        "distinct(src_ip) / flows >= 0.5 | DISTINCT_SRC_IP FLOWS DIVIDE 0.5 GREATER_EQUAL | ''",
        "distinct(dst-port) > 5 | DISTINCT_DST_PORT 5.0 GREATER | count",
        "P99(rtt_ns) > 5ms | RTT_NS@0.99 5000000.0 GREATER | ns",
        "p99.9(bytes) - p50(bytes) > 1kB | BYTES@0.9990000000000001 BYTES@0.5 SUBTRACT 1000.0 GREATER | bytes",
        "SUM(Retransmitted_Bytes)>0 AND count>1 | RETRANSMITTED_BYTES 0.0 GREATER PACKETS 1.0 GREATER AND | bytes",
      })
  void conditionsAreExpressionsOfThePackets(String when, String steps, String unit) {
    Plan plan = plan("when=\"%s\", group=dst_ip, every=10ms".formatted(when));
    PacketTrigger trigger = plan.getTriggers(0);
    assertThat(trigger.getParser()).isEqualTo("packets");
    assertThat(PacketTriggersTest.text(trigger.getWhenList())).isEqualTo(steps);
    assertThat(plan.getProcessors(0).getValue().getUnit()).isEqualTo(unit);
    assertThat(plan.getParsersList()).containsExactly("packets", "trigger");
  }

  @Test
  void defaultsEqualThoseOfOtherTriggers() {
    PacketTrigger trigger =
        Fixtures.compile("PARSE packets TO h1 SAMPLE * PROCESS (trigger)")
            .plan()
            .orElseThrow()
            .getTriggers(0);
    assertThat(PacketTriggersTest.text(trigger.getWhenList())).isEqualTo("PACKETS 0.0 GREATER");
    assertThat(Durations.toMillis(trigger.getEvery())).isEqualTo(1000);
    assertThat(trigger.getGroupList()).isEmpty();
  }

  @Test
  void orHasTwoSpellings() {
    String or = "when=\"count > 1 %s count(syn) > 2\"";
    assertThat(plan(or.formatted("||")).getTriggersList())
        .isEqualTo(plan(or.formatted("or")).getTriggersList());
  }

  @Test
  void allArgumentsReachTheMonitor() {
    Plan plan =
        plan(
            "when=\"burst(bytes, 80us) > 60KB\", clear=30KB, after=2, cooldown=5ms,"
                + " group=(src_ip/24, dst_port), only=\"dst_port = 80\", every=2ms");
    PacketTrigger trigger = plan.getTriggers(0);
    assertThat(PacketTriggersTest.text(trigger.getClearList())).isEqualTo("BURST 30000.0 GREATER");
    assertThat(Durations.toMicros(trigger.getBurst())).isEqualTo(80);
    assertThat(trigger.getAfter()).isEqualTo(2);
    assertThat(Durations.toMillis(trigger.getCooldown())).isEqualTo(5);
    assertThat(trigger.getNetworks(0).getIpv4()).isEqualTo(24);
    assertThat(trigger.getFilter().getNodesCount()).isEqualTo(1);
    assertThat(Explain.render(plan, List.of()))
        .contains("in the monitor, on packets with dst_port");
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "count < 10 | PACKETS 10.0 GREATER_EQUAL",
        "max(bytes) <= 80 and count < 10 | MAX_BYTES 80.0 GREATER PACKETS 10.0 GREATER_EQUAL OR",
        "count(rst) < 1 or (rate < 5 and count(syn) <= 2) |"
            + " RST 1.0 GREATER_EQUAL PACKETS 0.01 DIVIDE 5.0 GREATER_EQUAL SYN 2.0 GREATER OR AND",
        "burst(bytes, 80us) < 9 | BURST 9.0 GREATER_EQUAL",
      })
  void aConditionEndsAnAlert(String clear, String holdCondition) {
    String arguments =
        "when=\"count > 50 and count(syn) > 3\", clear=\"%s\", group=dst_ip, every=10ms";
    PacketTrigger trigger = plan(arguments.formatted(clear)).getTriggers(0);
    assertThat(PacketTriggersTest.text(trigger.getClearList())).isEqualTo(holdCondition);
    assertThat(Durations.toMicros(trigger.getBurst())).isEqualTo(clear.contains("burst") ? 80 : 0);
  }

  @Test
  void ratesAreThoseOfTheWholeWindow() {
    PacketTrigger trigger = plan("when=\"rate > 100\", every=10ms, w=100ms").getTriggers(0);
    assertThat(PacketTriggersTest.text(trigger.getWhenList()))
        .isEqualTo("PACKETS 0.1 DIVIDE 100.0 GREATER");
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(
      strings = {"burst(bytes, 100us) > 60KB", "sum(unacked_bytes) / sum(in_flight_bytes) > 0.5"})
  void nonAdditiveFunctionsHaveNoOverlappingWindows(String when) {
    assertThat(Fixtures.errors(query("when=\"%s\", every=10ms, w=20ms".formatted(when))))
        .contains(" can't be used with overlapping windows");
  }

  @Test
  void factsAboutConnectionsCostMore() {
    String cost = "117 ns per packet to parse it, %d to match it";
    assertThat(Explain.render(plan("when=\"count(syn) > 5\", every=10ms"), List.of()))
        .contains(cost.formatted(14));
    assertThat(Explain.render(plan("when=\"count(retransmitted) > 5\", every=10ms"), List.of()))
        .contains(cost.formatted(54));
    String clear = "when=\"count(syn) > 5\", clear=\"count(retransmitted) < 5\", every=10ms";
    assertThat(Explain.render(plan(clear), List.of())).contains(cost.formatted(54));
  }

  @Test
  void triggersOfOtherParsersStayInTheJob() {
    Plan plan =
        Fixtures.compile(
                "PARSE packets, http_get TO h1 SAMPLE * PROCESS (trigger: when=\"count(rst) > 3\"),"
                    + " (trigger: when=\"share(status >= 500) > 0.2\"), (top-k: key=url)")
            .plan()
            .orElseThrow();
    assertThat(plan.getTriggersList()).hasSize(1);
    assertThat(plan.getProcessorsList())
        .extracting(Processor::getParser)
        .containsExactly("trigger", "http_get", "http_get");
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "when=\"sum(bytes)\" | it contains no comparison",
        "when=\"sum(bytes) >\" | it is incomplete",
        "when=\"sum(bytes > 5\" | a ) is missing",
        "when=\"sum(bytes) > 5 count\" | is unexpected",
        "when=\"sum(bytes) > 5 + (count > 3)\" | + needs values on both sides",
        "when=\"sum(bytes) and count > 3\" | and needs comparisons on both sides",
        "when=\"sum(url) > 5\" | packets have no sum(url)",
        "when=\"sum > 5\" | sum needs a field",
        "when=\"max(syn) > 5\" | packets have no max(syn)",
        "when=\"p99(syn) > 5ms\" | packets have no p99(syn)",
        "when=\"p99 > 5ms\" | p99 needs a field",
        "when=\"p100(bytes) > 5\" | there is no function 'p100' of packets",
        "when=\"p0(bytes) > 5\" | there is no function 'p0' of packets",
        "when=\"distinct(bytes) > 5\" | packets have no distinct(bytes)",
        "when=\"distinct > 5\" | distinct needs a field",
        "when=\"flows(src_ip) > 5\" | flows takes no field",
        "when=\"median(bytes) > 5\" | there is no function 'median' of packets",
        "when=\"sum(bytes) > 5 ; drop\" | is not a condition",
        "when=\"sum(bytes) > 5XB\" | is not a number",
        "when=\"burst(bytes) > 5\" | burst needs a span",
        "when=\"burst(bytes, 1s) > 5\" | the span of a burst is out of range",
        "when=\"burst(bytes, 1) > 5\" | is not a duration",
        "when=\"burst(bytes, 8us) > 5 or burst(bytes, 16us) > 5\" | its bursts have different spans",
        "when=\"sum(bytes, 5us) > 5\" | sum takes one field",
        "when=\"count > 5 and count(syn) > 3\", clear=2 | clear= can be a threshold only if when= compares one value with a number",
        "when=\"count > 5\", clear=x | clear= is neither a threshold nor a condition: 'x'",
        "when=\"count > 5\", clear=\"max(syn) < 5\" | clear: packets have no max(syn)",
        "when=\"burst(bytes, 8us) > 5\", clear=\"burst(bytes, 16us) < 5\" | its bursts have different spans",
        "when=\"count > 5\", w=25ms | w= is not a multiple of every=",
        "when=\"count > 5\", group=flow_hash | addresses and ports",
        "when=\"count > 5\", only=\"bytes > 5\" | only= must join comparisons",
      })
  void wrongTriggersAreReported(String arguments, String message) {
    assertThat(Fixtures.errors(query(arguments + ", every=10ms"))).contains(message);
  }

  @Test
  void onlyTriggersCountPackets() {
    String errors = Fixtures.errors("PARSE packets TO h1 PROCESS (top-k: key=src_ip, by=bytes)");
    assertThat(errors).contains("packets emits no tuples: only triggers count its packets");
    assertThat(Fixtures.errors("PARSE packets TO h1 SAMPLE 0.5 PROCESS (trigger)"))
        .contains("sampling may exclude flows (use SAMPLE *)");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", ", group=src_ip"})
  void aSilentLinkOrGroupMeetsACondition(String group) {
    assertThat(
            PacketTriggersTest.text(
                plan("when=\"count < 5\", every=10ms" + group).getTriggers(0).getWhenList()))
        .isEqualTo("PACKETS 5.0 LESS");
  }

  @ParameterizedTest
  @ValueSource(ints = {65, 5_000})
  void deepNestingIsRefused(int levels) {
    String when = "(".repeat(levels) + "count" + ")".repeat(levels) + " > 5";
    assertThat(Fixtures.errors(query("when=\"" + when + "\""))).contains("nested too deeply");
    String sum = "count + (".repeat(10) + "count" + ")".repeat(10) + " > 5";
    assertThat(Fixtures.errors(query("when=\"" + sum + "\""))).contains("terms and operators");
  }
}
