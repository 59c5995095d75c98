package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.packets.TriggerCost;
import io.tapline.compiler.packets.TriggerCost.Traffic;
import io.tapline.compiler.text.ErrorRenderer;
import io.tapline.compiler.text.Note;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.PacketQuantile;
import io.tapline.schema.proto.PacketTrigger;
import java.util.List;
import org.junit.jupiter.api.Test;

class TriggerCostTest {
  private static final double EXACT = 1e-9;
  private static final String QUERY =
      "PARSE tcp_pkt_size TO h1 SAMPLE * PROCESS (trigger: when=\"sum(bytes) > 5KB\", group=src_ip, every=10ms)";

  private static PacketTrigger trigger(long everyMs, String... group) {
    return PacketTrigger.newBuilder()
        .setEvery(Durations.fromMillis(everyMs))
        .addAllGroup(List.of(group))
        .build();
  }

  private static double busy(Traffic traffic, PacketTrigger... triggers) {
    return new TriggerCost(List.of(triggers)).busy(traffic);
  }

  @Test
  void sharesAddUp() {
    Traffic million = new Traffic(1e6, 1_000);
    // One trigger takes two match sets, and two triggers take three.
    double one = 131e-3 + 0.35e-3 * Math.sqrt(2);
    double two = 131e-3 + 0.35e-3 * Math.sqrt(3);
    // 17 ns per packet in groups, and 1,000 groups of 50 ns in 10 ms.
    assertThat(busy(million, trigger(10, "src_ip"))).isCloseTo(one + 0.022, within(EXACT));
    // Both triggers use the same counters.
    assertThat(busy(million, trigger(10, "src_ip"), trigger(10, "src_ip")))
        .isCloseTo(two + 0.022, within(EXACT));
    // The triggers use different counters, since their groupings or windows differ.
    assertThat(busy(million, trigger(10, "src_ip"), trigger(10, "dst_ip")))
        .isCloseTo(two + 0.044, within(EXACT));
    assertThat(busy(million, trigger(10, "src_ip"), trigger(1, "src_ip")))
        .isCloseTo(two + 0.022 + 0.067, within(EXACT));
    // Every 10 ms, two match sets of 79 ns and a test of 23 ns; every ms, two match sets of 32 ns
    // and a test of 1 ns.
    assertThat(busy(million, trigger(10))).isCloseTo(one + 181e-7 + 65e-6, within(EXACT));
    // Short windows are tested only at their end.
    assertThat(busy(million, trigger(2))).isCloseTo(one + 181e-6 / 2, within(EXACT));
  }

  @Test
  void groupsThatLeaveTheCacheCostMore() {
    Traffic few = new Traffic(10e6, 7_700);
    Traffic heavyTraffic = new Traffic(10e6, 77_000);
    // 64 ns for nine in ten packets, and 69,300 more groups of 50 ns in 10 ms.
    assertThat(busy(heavyTraffic, trigger(10, "src_ip")) - busy(few, trigger(10, "src_ip")))
        .isCloseTo(0.576 + 0.3465, within(EXACT));
  }

  private static PacketTrigger comparing(ConditionStep.Measure measure, String... group) {
    return trigger(10, group).toBuilder()
        .addWhen(ConditionStep.newBuilder().setMeasure(measure))
        .build();
  }

  @Test
  void distinctValuesCostMore() {
    Traffic million = new Traffic(1e6, 1_000);
    PacketTrigger counting = comparing(ConditionStep.Measure.BYTES, "src_ip");
    PacketTrigger flows = comparing(ConditionStep.Measure.FLOWS, "src_ip");
    PacketTrigger ports = comparing(ConditionStep.Measure.DISTINCT_DST_PORT, "src_ip");
    // 43 ns per packet, and 1,000 groups of 655 ns in 10 ms, for each trigger and kind of value.
    assertThat(busy(million, flows)).isCloseTo(busy(million, counting) + 0.1085, within(EXACT));
    assertThat(busy(million, flows, ports))
        .isCloseTo(busy(million, counting, counting) + 0.217, within(EXACT));
    // The triggers use separate counters.
    assertThat(busy(million, flows, counting))
        .isCloseTo(busy(million, counting, counting) + 0.1305, within(EXACT));
    assertThat(new TriggerCost(List.of(flows)).explain().get(0))
        .contains("43 per packet for distinct values and percentiles");
    assertThat(new TriggerCost(List.of(flows)).at(million))
        .contains("counting groups 2 %, distinct values and percentiles 4 %, sweeping");
  }

  @Test
  void percentilesOfRoundTripsNeedConnections() {
    Traffic million = new Traffic(1e6, 1_000);
    PacketTrigger percentile =
        trigger(10).toBuilder()
            .addWhen(
                ConditionStep.newBuilder()
                    .setQuantile(
                        PacketQuantile.newBuilder()
                            .setMeasure(ConditionStep.Measure.RTT_NS)
                            .setShare(0.99)))
            .build();
    PacketTrigger minimum = comparing(ConditionStep.Measure.MIN_RTT_NS);
    // 170 ns per packet, and two match sets of 655 ns in 10 ms.
    assertThat(busy(million, percentile))
        .isCloseTo(busy(million, minimum) + 0.170 + 1.31e-4, within(EXACT));
  }

  @Test
  void eachPaneOfAWindowIsSwept() {
    Traffic million = new Traffic(1e6, 1_000);
    PacketTrigger tumbling = trigger(10, "src_ip");
    PacketTrigger sliding = tumbling.toBuilder().setWindow(Durations.fromMillis(40)).build();
    // 3 more panes, with 70 ns for each of 1,000 groups, in 10 ms.
    assertThat(busy(million, sliding)).isCloseTo(busy(million, tumbling) + 0.021, within(EXACT));
  }

  @Test
  void aWindowHasNoMoreGroupsThanPackets() {
    assertThat(busy(new Traffic(1_000, 100_000), trigger(10, "src_ip")))
        .isCloseTo(1_000 * (198e-9 + 0.35e-9 * Math.sqrt(2)), within(EXACT));
  }

  @Test
  void theSustainedRateUsesTheWholeBudget() {
    for (PacketTrigger trigger : List.of(trigger(10, "src_ip"), trigger(10), trigger(1, "flow"))) {
      TriggerCost cost = new TriggerCost(List.of(trigger));
      assertThat(cost.busy(new Traffic(cost.sustained(), TriggerCost.MAX_GROUPS)))
          .isCloseTo(TriggerCost.MAX_BUSY, within(1e-6));
    }
  }

  @Test
  void explainShowsTheCost() {
    assertThat(Explain.render(Fixtures.compile(QUERY).plan().orElseThrow(), List.of()))
        .contains(
            "cost      1 trigger in windows of 10ms: 117 ns per packet to parse it, 14 to match it,"
                + " 17 to 77 to count it in 1 grouping, 50 ns for each group in a window\n"
                + "          a core sustains 3.24 million packets/s of this query, using 80 % of its"
                + " time\n");
    assertThat(
            Explain.render(
                Fixtures.compile(QUERY.replace("10ms", "1s")).plan().orElseThrow(), List.of()))
        .as("in the stream job")
        .doesNotContain("cost ");
  }

  private static CompileResult at(long packetsPerSecond) {
    String yaml =
        "hosts: {h1: 10.0.2.9}\ntraffic: {packets_per_second: %d, groups: 100000}"
            .formatted(packetsPerSecond);
    return Compiler.compile(QUERY, Fixtures.CATALOGUE, Inventory.fromYaml(yaml), Fixtures.OPTIONS);
  }

  @Test
  void triggersBeyondTheBudgetAreRejectedWithFigures() {
    CompileResult refusedResult = at(6_000_000);
    assertThat(refusedResult.plan()).isEmpty();
    assertThat(refusedResult.errors())
        .extracting(QueryError::code)
        .containsExactly(QueryError.Code.TOO_LARGE);
    assertThat(ErrorRenderer.render(QUERY, refusedResult.errors()))
        .contains(
            "testing 1 trigger on packets, in windows of 10ms, takes 153 % of a core at 6.00 million"
                + " packets/s and 100,000 groups per window: parsing 70 %, matching 9 %, counting"
                + " groups 44 %, sweeping 30 %",
            "at most 80 % of a core");
  }

  @Test
  void triggersWithinTheBudgetCauseANote() {
    CompileResult fits = at(1_000_000);
    assertThat(fits.plan()).isPresent();
    assertThat(fits.notes())
        .extracting(Note::message)
        .anyMatch(note -> note.contains("takes 21 % of a core at 1.00 million packets/s"));
  }
}
