package io.tapline.compiler.packets;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.compiler.text.Literals;
import io.tapline.schema.proto.Condition;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Sampling;
import io.tapline.schema.proto.TupleTrigger;
import io.tapline.schema.proto.Window;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Decides which triggers the monitor tests on a parser's tuples as the parser emits them. Events of
 * these triggers arrive within milliseconds. The stream job tests the same triggers, and its alerts
 * are the query's results.
 */
public final class TupleTriggers {
  /** The parser whose tuples are the monitor's events. */
  public static final String PARSER = "trigger";

  /** Maximum length of a window, as a multiple of {@code every}. */
  private static final int MAX_PANES = 100;

  /** Minimum {@code every} for which events gain nothing from being a few milliseconds earlier. */
  private static final long TOO_LONG_NS = 1000 * Literals.NS_PER_MS;

  private static final Set<String> AGGREGATES =
      Set.of("", "COUNT", "SUM", "MAX", "MIN", "AVG", "RATE", "DISTINCT", "PERCENTILE");

  private TupleTriggers() {}

  /** Returns true if a trigger is tested often enough for its early events to matter. */
  public static boolean isBrief(Processor trigger) {
    return Durations.toNanos(trigger.getWindow().getSlide()) < TOO_LONG_NS;
  }

  /**
   * Returns the reason why the monitor does not test a trigger on tuples, as the end of a sentence;
   * empty if it does. REQUIRES: the processor has a trigger that is not tested on packets.
   */
  public static Optional<String> obstacle(Processor trigger, Sampling sampling) {
    long everyNs = Durations.toNanos(trigger.getWindow().getSlide());
    long sizeNs = Durations.toNanos(trigger.getWindow().getSize());
    if (!isBrief(trigger)) {
      return Optional.of("its windows are not shorter than a second");
    } else if (trigger.hasJoin() || trigger.getValue().hasDifference()) {
      return Optional.of("it joins tuples");
    } else if (!TriggerValues.operands(trigger).stream()
        .allMatch(operand -> AGGREGATES.contains(operand.getAggregate()))) {
      return Optional.of(
          "the monitor supports only count, sum, avg, min, max, rate, share, flows, distinct and percentiles");
    } else if (sampling.getMode() != Sampling.Mode.OFF) {
      return Optional.of("sampling may exclude flows (use SAMPLE *)");
    } else if (!trigger.getWindow().hasSize() || sizeNs % everyNs != 0) {
      return Optional.of("w= is not a multiple of every=");
    } else if (sizeNs / everyNs > MAX_PANES) {
      return Optional.of("w= is longer than %d times every=".formatted(MAX_PANES));
    }
    return Optional.empty();
  }

  /**
   * Returns the reason why windows can't be shorter than those of the stream job, as the end of a
   * sentence; empty if they can. A longer window then meets the condition if a shorter one within
   * it does.
   */
  public static Optional<String> obstacleToShortWindows(Processor trigger, Sampling sampling) {
    if (trigger.getWhenCount() > 0 || !isExtreme(trigger) || trigger.getTrigger().getAfter() > 1) {
      return Optional.of(
          "the monitor can test only sums over packets, and max > N or min < N over tuples");
    } else if (!trigger.getWindow().getSize().equals(trigger.getWindow().getSlide())) {
      return Optional.of("w= is longer than every=");
    }
    return obstacle(trigger, sampling);
  }

  /** Returns true if a group of tuples meets the condition exactly when one of its parts does. */
  private static boolean isExtreme(Processor trigger) {
    Condition.Comparison comparison = trigger.getCondition().getComparison();
    boolean isAbove =
        comparison == Condition.Comparison.ABOVE || comparison == Condition.Comparison.AT_LEAST;
    return trigger.getAggregate().equals(isAbove ? "MAX" : "MIN");
  }

  /** Returns true if each of several monitors can test a trigger on its own tuples. */
  private static boolean isShareable(Processor trigger) {
    return trigger.getWhenCount() == 0
        && isExtreme(trigger)
        && trigger.getTrigger().getAfter() <= 1
        && trigger.getTrigger().getClear() == trigger.getCondition().getThreshold();
  }

  /** Returns the plan's triggers that the monitor tests on tuples. */
  public static List<TupleTrigger> of(List<Processor> processors, Sampling sampling) {
    List<TupleTrigger> triggers = new ArrayList<>();
    for (int i = 0; i < processors.size(); i++) {
      Processor processor = processors.get(i);
      boolean onTuples = processor.hasTrigger() && !processor.getParser().equals(PARSER);
      if (onTuples && obstacle(processor, sampling).isEmpty()) {
        triggers.add(
            TupleTrigger.newBuilder().setProcessor(i).setWindow(processor.getWindow()).build());
      }
    }
    return triggers;
  }

  /**
   * Returns the plan with only those triggers that its monitors can test, since each of several
   * monitors sees only some of the tuples.
   */
  public static Plan inMonitors(Plan plan) {
    if (plan.getMonitorsCount() < 2 || plan.getTupleTriggersCount() == 0) {
      return plan;
    }
    List<TupleTrigger> keptTriggers =
        plan.getTupleTriggersList().stream()
            .filter(trigger -> isShareable(plan.getProcessors(trigger.getProcessor())))
            .toList();
    Plan.Builder left = plan.toBuilder().clearTupleTriggers().addAllTupleTriggers(keptTriggers);
    if (keptTriggers.isEmpty() && plan.getTriggersCount() == 0) {
      List<String> parsers =
          plan.getParsersList().stream().filter(parser -> !parser.equals(PARSER)).toList();
      left.clearParsers().addAllParsers(parsers);
    }
    return left.build();
  }

  /** Returns the processor with windows that the stream job supports. */
  public static Processor inJob(Processor trigger) {
    boolean tooShort =
        trigger.hasTrigger()
            && Durations.toNanos(trigger.getWindow().getSlide())
                < ProcessorCatalogue.SHORTEST_WINDOW_NS;
    return tooShort ? trigger.toBuilder().setWindow(inJob(trigger.getWindow())).build() : trigger;
  }

  /** Returns a window of the shortest multiple of {@code every} that the job supports. */
  public static Window inJob(Window window) {
    long everyNs = Durations.toNanos(window.getSlide());
    long times = (ProcessorCatalogue.SHORTEST_WINDOW_NS + everyNs - 1) / everyNs;
    var length = Durations.fromNanos(everyNs * Math.max(1, times));
    return Window.newBuilder().setSize(length).setSlide(length).build();
  }
}
