package io.tapline.control.watches;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.drill.DrillAggregate;
import io.tapline.control.drill.HeaderFilter;
import io.tapline.control.drill.MonitorWatches.Watch;
import io.tapline.control.drill.WatchRun;
import io.tapline.control.drill.WatchSpec;
import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.proto.PrefixLength;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests which watches may share a query. */
class WatchGroupTest {
  private static final WatchGroup.Key KEY = new WatchGroup.Key("a", "*", 10_000_000);

  private static PacketTrigger trigger(int prefixLength, ConditionStep.Measure measure) {
    return PacketTrigger.newBuilder()
        .addGroup("src_ip")
        .addNetworks(PrefixLength.newBuilder().setField("src_ip").setIpv4(prefixLength))
        .addWhen(ConditionStep.newBuilder().setMeasure(measure))
        .build();
  }

  private static Watch watch(PacketTrigger trigger) throws Exception {
    WatchSpec spec =
        new WatchSpec(
            HeaderFilter.ofText(""),
            DrillAggregate.parse("COUNT", List.of("src_ip")),
            "count > 5",
            KEY.everyNs(),
            KEY.everyNs(),
            "critical",
            List.of(),
            false,
            new WatchRun(true, "requested"));
    return new Watch("watch_1", spec, trigger);
  }

  /** A monitor counts triggers with distinct values and percentiles separately from others. */
  @Test
  void aQueryHasAtMostAsManyKindsOfTriggersAsAMonitorCounts() throws Exception {
    WatchGroup group = new WatchGroup(KEY);
    for (int length = 1; length <= WatchGroup.MAX_KINDS; length++) {
      PacketTrigger trigger = trigger(length, ConditionStep.Measure.BYTES);
      assertThat(group.takes(KEY, trigger)).as("%d kinds", length).isTrue();
      group.add(watch(trigger), (alert, id, monitor, replayed) -> {});
    }
    assertThat(group.takes(KEY, trigger(1, ConditionStep.Measure.PACKETS))).isTrue();
    assertThat(group.takes(KEY, trigger(1, ConditionStep.Measure.FLOWS))).isFalse();
    assertThat(group.takes(KEY, trigger(32, ConditionStep.Measure.BYTES))).isFalse();
    group.remove(List.of(3));
    assertThat(group.takes(KEY, trigger(1, ConditionStep.Measure.FLOWS))).isTrue();
  }
}
