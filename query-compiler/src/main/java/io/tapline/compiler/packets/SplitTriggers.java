package io.tapline.compiler.packets;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Window;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Splits the triggers on packets of a plan with several monitors. Each monitor emits its values of
 * every window and group, and the stream job combines them and tests the condition:
 *
 * <pre>
 *   monitor A   sum(bytes) of 10.1.0.5 = 31 kB ─┐
 *                                               ├─▶ job   68 kB &gt; 50 kB: an alert
 *   monitor B   sum(bytes) of 10.1.0.5 = 37 kB ─┘
 * </pre>
 */
public final class SplitTriggers {
  private SplitTriggers() {}

  private static boolean isSplit(Plan plan) {
    return plan.getTriggersCount() > 0 && plan.getMonitorsCount() > 1;
  }

  /**
   * Returns the reasons why triggers can't be tested on the packets of the plan's several monitors,
   * as ends of sentences, by processor. Empty if they can, or if there is only one monitor.
   */
  public static Map<Integer, String> obstacles(Plan plan) {
    Map<Integer, String> obstacles = new TreeMap<>();
    if (isSplit(plan)) {
      for (PacketTrigger trigger : plan.getTriggersList()) {
        obstacle(trigger).ifPresent(reason -> obstacles.put(trigger.getProcessor(), reason));
      }
    }
    return obstacles;
  }

  private static Optional<String> obstacle(PacketTrigger trigger) {
    if (trigger.getPartial()) {
      return Optional.empty();
    } else if (condition(trigger).combined().isEmpty()) {
      return Optional.of(
          "only a sum, count, maximum or minimum that exceeds a number can be computed from their values");
    } else if (Durations.toNanos(trigger.getEvery()) < ProcessorCatalogue.SHORTEST_WINDOW_NS) {
      return Optional.of("the stream job combines their values in windows of 10ms or more");
    }
    return Optional.empty();
  }

  /**
   * Returns the plan with its triggers split if it has several monitors. REQUIRES: {@link
   * #obstacles} is empty.
   */
  public static Plan split(Plan plan) {
    if (!isSplit(plan)) {
      return plan;
    }
    Plan.Builder split = plan.toBuilder();
    for (int i = 0; i < plan.getTriggersCount(); i++) {
      PacketTrigger trigger = plan.getTriggers(i);
      if (!trigger.getPartial()) {
        int number = trigger.getProcessor();
        split.setTriggers(i, inMonitors(trigger));
        split.setProcessors(number, inJob(plan.getProcessors(number), trigger));
      }
    }
    return split.build();
  }

  private static PacketTrigger inMonitors(PacketTrigger trigger) {
    return trigger.toBuilder()
        .clearClear()
        .clearAfter()
        .clearCooldown()
        .clearWindow()
        .setPartial(true)
        .build();
  }

  /** Returns the job's part, whose alerts have the conditions that one monitor would test. */
  private static Processor inJob(Processor processor, PacketTrigger trigger) {
    PacketCondition.Combined combined = condition(trigger).combined().orElseThrow();
    Window.Builder window = Window.newBuilder().setSlide(trigger.getEvery());
    window.setSize(trigger.hasWindow() ? trigger.getWindow() : trigger.getEvery());
    Processor.Builder job =
        processor.toBuilder()
            .setAggregate(combined.aggregate())
            .setCondition(combined.condition())
            .setWindow(window);
    job.getTriggerBuilder().setClear(combined.clear()).setAfter(trigger.getAfter());
    if (trigger.hasCooldown()) {
      job.getTriggerBuilder().setCooldown(trigger.getCooldown());
    }
    return job.build();
  }

  private static PacketCondition condition(PacketTrigger trigger) {
    return new PacketCondition(
        trigger.getWhenList(), trigger.getClearList(), Durations.toNanos(trigger.getBurst()), "");
  }
}
