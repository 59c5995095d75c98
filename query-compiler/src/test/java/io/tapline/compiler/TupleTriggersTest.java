package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.packets.TupleTriggers;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TupleTriggersTest {
  private static final String LOAD =
      "PARSE link_load(link=100000000, every=1ms) FROM * TO * SAMPLE * ";

  private static CompileResult compile(String trigger) {
    String text = LOAD + "PROCESS (trigger: %s)".formatted(trigger);
    return Compiler.compile(text, AllTrafficTest.CATALOGUE, Fixtures.INVENTORY, Fixtures.OPTIONS);
  }

  private static Plan load(String trigger) {
    CompileResult result = compile(trigger);
    return result.plan().orElseThrow(() -> new AssertionError(result.errors().toString()));
  }

  @Test
  void theLoadOfLinksIsTestedEachMillisecond() {
    Plan plan =
        load("when=\"max(share) > 0.9\", clear=0.8, group=(switch, port), every=1ms, cooldown=3ms");
    assertThat(plan.getParsersList()).containsExactly("link_load", "trigger");
    assertThat(plan.getTriggersList()).as("none on packets").isEmpty();
    assertThat(plan.getTupleTriggersList()).hasSize(1);
    assertThat(plan.getTupleTriggers(0).getProcessor()).isZero();
    assertThat(Durations.toMillis(plan.getTupleTriggers(0).getWindow().getSlide())).isEqualTo(1);
    assertThat(Durations.toMillis(plan.getProcessors(0).getWindow().getSlide()))
        .as("the stream job's windows")
        .isEqualTo(10);
    assertThat(plan.getProcessors(0).getParser()).isEqualTo("link_load");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "when=\"max(share) > 0.9\", every=10ms | true",
        "when=\"avg(share) < 0.1\", w=1s, every=20ms | true",
        "when=\"share(share > 0.9) > 0.5\", w=100ms, every=10ms | true",
        "when=\"count >= 3\", w=100ms, every=10ms | true",
        "when=\"max(share) > 0.9\", every=1s | false",
        "when=\"p99(share) > 0.9\", every=10ms | true",
        "when=\"distinct(port) > 9\", group=switch, w=100ms, every=10ms | true",
        "when=\"rate(share) > 0.9\", w=1s, every=10ms | true",
        "when=\"max(share) > 0.9\", w=2s, every=10ms | false",
      })
  void shortWindowsOfMergeableValuesAreTestedInTheMonitor(String trigger, boolean inMonitor) {
    Plan plan = load(trigger);
    assertThat(plan.getTupleTriggersCount() == 1).isEqualTo(inMonitor);
    assertThat(plan.getParsersList().contains("trigger")).isEqualTo(inMonitor);
    assertThat(plan.getProcessors(0).getWindow().getSlide())
        .as("the stream job tests them, too")
        .isEqualTo(load(trigger).getProcessors(0).getWindow().getSlide());
  }

  @Test
  void flowsOfTuplesAreTheirFlowHashes() {
    String query =
        "PARSE http_get TO h1 SAMPLE * PROCESS (trigger: when=\"%s\", group=url, every=%s)";
    Plan plan = Fixtures.compile(query.formatted("flows > 9", "10ms")).plan().orElseThrow();
    assertThat(plan.getProcessors(0).getAggregate()).isEqualTo("DISTINCT");
    assertThat(plan.getProcessors(0).getValue().getField()).isEqualTo("flow_hash");
    assertThat(plan.getTupleTriggersCount()).isEqualTo(1);
    assertThat(Fixtures.compile(query.formatted("flows > 9", "1s")).plan().orElseThrow())
        .as("in the stream job only")
        .matches(slow -> slow.getTupleTriggersCount() == 0);
    assertThat(Fixtures.errors(query.formatted("flows(url) > 9", "10ms")))
        .contains("flows takes no field");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "when=\"sum(bits_per_second) > 9\", every=1ms | the monitor can test only sums over packets, and max > N or min < N over tuples",
        "when=\"max(share) < 0.9\", every=1ms | the monitor can test only sums over packets, and max > N or min < N over tuples",
        "when=\"max(share) > 0.9\", every=1ms, after=3 | the monitor can test only sums over packets, and max > N or min < N over tuples",
        "when=\"max(share) > 0.9\", w=4ms, every=1ms | w= is longer than every=",
      })
  void windowsBelowTenMillisecondsNeedAConditionThatLongerOnesShare(String trigger, String reason) {
    assertThat(compile(trigger).errors().toString()).contains("10ms or more, since " + reason);
  }

  @Test
  void splitsConditionsOverSeveralMonitors() {
    Plan shared = load("when=\"max(share) > 0.9\", every=10ms");
    Plan own = load("when=\"count > 9\", every=10ms");
    assertThat(TupleTriggers.inMonitors(own)).isEqualTo(own);
    for (Plan plan : new Plan[] {shared, own}) {
      Plan bothPlan = plan.toBuilder().addMonitors(Monitor.newBuilder().setId("second")).build();
      Plan tested = TupleTriggers.inMonitors(bothPlan);
      assertThat(tested.getTupleTriggersCount()).isEqualTo(plan == shared ? 1 : 0);
      assertThat(tested.getParsersList().contains("trigger")).isEqualTo(plan == shared);
    }
  }
}
