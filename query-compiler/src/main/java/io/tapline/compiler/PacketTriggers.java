package io.tapline.compiler;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.conditions.ConditionPrinter;
import io.tapline.compiler.packets.GroupWords;
import io.tapline.compiler.packets.PacketCondition;
import io.tapline.compiler.packets.TupleTriggers;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.conditions.Trees;
import io.tapline.schema.proto.Condition;
import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Sampling;
import io.tapline.schema.proto.TupleFilter;
import io.tapline.schema.proto.TupleTrigger;
import io.tapline.schema.proto.Value;
import io.tapline.schema.proto.Window;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Decides which triggers the monitor tests on packets. These are the triggers on the parser {@code
 * packets}, and triggers whose windows are shorter than the interval of their parser's tuples, if
 * the monitor can compute the compared value. The stream job then reads the monitor's events, which
 * are tuples of the parser {@code trigger}, instead of the parser's own tuples.
 */
final class PacketTriggers {
  /** The parser whose tuples are the monitor's events. */
  static final String PARSER = TupleTriggers.PARSER;

  /** Fields whose sums the monitor can compute over packets. */
  private static final Map<String, Map<String, ConditionStep.Measure>> MEASURES =
      Map.of(
          "tcp_pkt_size",
          Map.of("bytes", ConditionStep.Measure.BYTES, "packets", ConditionStep.Measure.PACKETS),
          "udp_flow",
          Map.of("bytes", ConditionStep.Measure.BYTES));

  /** Fields whose distinct values the monitor can count over packets. */
  private static final Map<String, ConditionStep.Measure> DISTINCT =
      Map.of(
          "flow_hash", ConditionStep.Measure.FLOWS,
          "src_ip", ConditionStep.Measure.DISTINCT_SRC_IP,
          "src_port", ConditionStep.Measure.DISTINCT_SRC_PORT,
          "dst_ip", ConditionStep.Measure.DISTINCT_DST_IP,
          "dst_port", ConditionStep.Measure.DISTINCT_DST_PORT);

  /** A condition that every value meets. */
  private static final Condition ANY =
      Condition.newBuilder()
          .setComparison(Condition.Comparison.AT_LEAST)
          .setThreshold(-Double.MAX_VALUE)
          .build();

  /** Maximum length of a window, as a multiple of {@code every}. */
  private static final int MAX_PANES = 100;

  /** Fields of a tuple that packets also have. */
  private static final Set<String> FIELDS = Set.of("src_ip", "src_port", "dst_ip", "dst_port");

  private static final Set<String> ADDRESSES = Set.of("src_ip", "dst_ip");

  private final Sampling sampling;
  private final List<TupleFilter> filters;
  // Conditions of triggers, by processor number.
  private final Map<Integer, PacketCondition> conditions = new TreeMap<>();

  PacketTriggers(Sampling sampling, List<TupleFilter> filters) {
    this.sampling = sampling;
    this.filters = filters;
  }

  /** The triggers that the monitor tests, and the processors that the stream job runs. */
  record Split(List<PacketTrigger> triggers, List<Processor> processors) {}

  /** Returns true if successive windows overlap. */
  static boolean overlaps(Window window) {
    return !window.getSize().equals(window.getSlide());
  }

  /** Returns true if windows end more often than the parser emits tuples. */
  static boolean needsPackets(Processor processor, ParserInfo parser) {
    return processor.hasTrigger()
        && Durations.toNanos(processor.getWindow().getSlide()) < parser.intervalNs();
  }

  /** Makes the monitor test a processor on packets with this condition. */
  void add(int processor, PacketCondition condition) {
    conditions.put(processor, condition);
  }

  /**
   * Makes the monitor test, on packets, a trigger whose condition is on tuples. REQUIRES: {@link
   * #obstacle} is empty.
   */
  void addMeasured(int number, Processor trigger) {
    add(number, PacketCondition.of(measure(trigger).orElseThrow(), trigger));
  }

  private static Optional<ConditionStep.Measure> measure(Processor trigger) {
    Map<String, ConditionStep.Measure> measures =
        switch (trigger.getAggregate()) {
          case "SUM" -> MEASURES.getOrDefault(trigger.getParser(), Map.of());
          case "DISTINCT" -> DISTINCT;
          default -> Map.of();
        };
    return Optional.ofNullable(measures.get(trigger.getValue().getField()));
  }

  /**
   * Returns the reason why the monitor can't test a trigger on the packets of its parser, as the
   * end of a sentence; empty if it can.
   */
  Optional<String> obstacle(Processor trigger) {
    Map<String, ConditionStep.Measure> measures =
        MEASURES.getOrDefault(trigger.getParser(), Map.of());
    if (measures.isEmpty()) {
      return Optional.of("%s does not count packets".formatted(trigger.getParser()));
    } else if (trigger.getWhenCount() > 0) {
      return Optional.of(
          "it has a condition on several values, or a condition in clear= (PARSE packets supports both)");
    } else if (measure(trigger).isEmpty()) {
      return Optional.of(
          "it does not compare a sum of %s, flows, or distinct addresses or ports"
              .formatted(String.join(" or ", measures.keySet().stream().sorted().toList())));
    }
    return obstacleToCounting(trigger);
  }

  /** Returns the {@link #obstacle}, regardless of the compared value. */
  Optional<String> obstacleToCounting(Processor trigger) {
    if (trigger.hasJoin() || !FIELDS.containsAll(trigger.getKeyList())) {
      return Optional.of("packets can be grouped only by addresses and ports");
    } else if (windowObstacle(trigger.getWindow()).isPresent()) {
      return windowObstacle(trigger.getWindow());
    } else if (sampling.getMode() != Sampling.Mode.OFF) {
      return Optional.of("sampling may exclude flows (use SAMPLE *)");
    } else if (!fits(where(trigger.getParser()))) {
      return Optional.of("WHERE must join comparisons of addresses and ports by AND");
    } else if (!fits(trigger.getValue().getOnly())) {
      return Optional.of("only= must join comparisons of addresses and ports by AND");
    }
    return Optional.empty();
  }

  /** Returns {@link TupleTriggers#obstacleToShortWindows} for the query's sampling. */
  Optional<String> obstacleToShortWindows(Processor trigger) {
    return TupleTriggers.obstacleToShortWindows(trigger, sampling);
  }

  private static Optional<String> windowObstacle(Window window) {
    long everyNs = Durations.toNanos(window.getSlide());
    long sizeNs = Durations.toNanos(window.getSize());
    if (sizeNs % everyNs != 0) {
      return Optional.of("w= is not a multiple of every=");
    } else if (sizeNs / everyNs > MAX_PANES) {
      return Optional.of("w= is longer than %d times every=".formatted(MAX_PANES));
    }
    return Optional.empty();
  }

  /** Splits each added trigger into a part for the monitor and a part for the job. */
  Split split(List<Processor> processors) {
    List<PacketTrigger> triggers = new ArrayList<>();
    List<Processor> left = new ArrayList<>(processors);
    conditions.forEach(
        (number, condition) -> {
          triggers.add(inMonitor(number, processors.get(number), condition));
          left.set(number, inJob(number, processors.get(number)));
        });
    return new Split(triggers, left);
  }

  private PacketTrigger inMonitor(int number, Processor trigger, PacketCondition condition) {
    PacketTrigger.Builder packets =
        PacketTrigger.newBuilder()
            .setProcessor(number)
            .setParser(trigger.getParser())
            .addAllGroup(trigger.getKeyList())
            .addAllWhen(condition.when())
            .addAllClear(condition.clear())
            .setAfter(trigger.getTrigger().getAfter())
            .setEvery(trigger.getWindow().getSlide())
            .addAllNetworks(trigger.getNetworksList());
    if (overlaps(trigger.getWindow())) {
      packets.setWindow(trigger.getWindow().getSize());
    }
    if (trigger.getTrigger().hasCooldown()) {
      packets.setCooldown(trigger.getTrigger().getCooldown());
    }
    if (condition.burstNs() > 0) {
      packets.setBurst(Durations.fromNanos(condition.burstNs()));
    }
    ConditionTree filter = filter(trigger.getParser(), trigger.getValue().getOnly());
    if (filter.getNodesCount() > 0) {
      packets.setFilter(filter);
    }
    return packets.build();
  }

  /**
   * Returns the job's part of a trigger. The monitor reports each window in which an alert is
   * active. The job raises an alert with the first report, clears it with the first window without
   * a report, and reports the maximum value.
   */
  private static Processor inJob(int number, Processor trigger) {
    Value value =
        Value.newBuilder()
            .setField("value")
            .setUnit(trigger.getValue().getUnit())
            .setOnly(Trees.isOneOf("trigger", List.of(Trees.word(Integer.toString(number)))))
            .build();
    return trigger.toBuilder()
        .setParser(PARSER)
        .setValue(value)
        .setAggregate("MAX")
        .setCondition(ANY)
        .setTrigger(
            trigger.getTrigger().toBuilder()
                .setClear(ANY.getThreshold())
                .setAfter(1)
                .clearCooldown())
        .setWindow(TupleTriggers.inJob(trigger.getWindow()))
        .build();
  }

  /**
   * Reports an error if a trigger that the stream job tests has groups by network, since the job's
   * tuples have whole addresses.
   */
  static void refuseNetworks(Processor trigger, Arguments arguments, Errors errors) {
    if (trigger.getNetworksCount() == 0) {
      return;
    }
    boolean wasCounted = MEASURES.containsKey(trigger.getParser());
    errors.conflict(
        arguments.span("group"),
        "only the monitor can group by network, and this trigger runs in the stream job",
        wasCounted
            ? "every= shorter than the interval of " + trigger.getParser()
            : "whole addresses, or a trigger on tcp_pkt_size or udp_flow");
  }

  /** Returns the condition of WHERE on a parser's tuples. */
  private ConditionTree where(String parser) {
    return and(
        filters.stream()
            .filter(filter -> filter.getParsersList().contains(parser))
            .map(TupleFilter::getCondition)
            .toList());
  }

  /** Returns the conjunction of WHERE and {@code only=}. */
  private ConditionTree filter(String parser, ConditionTree only) {
    return and(Stream.of(where(parser), only).filter(tree -> tree.getNodesCount() > 0).toList());
  }

  /**
   * Returns a monitor's trigger that counts only packets that meet a condition; empty if the
   * monitor can't test the condition.
   *
   * @param trigger trigger from {@link #split} without {@code only=}
   */
  Optional<PacketTrigger> narrowed(PacketTrigger trigger, ConditionTree only) {
    if (!fits(only)) {
      return Optional.empty();
    }
    ConditionTree filter = filter(trigger.getParser(), only);
    return Optional.of(trigger.toBuilder().setFilter(filter).build());
  }

  private static ConditionTree and(List<ConditionTree> trees) {
    return trees.isEmpty() ? ConditionTree.getDefaultInstance() : Trees.and(trees);
  }

  private static boolean fits(ConditionTree tree) {
    return tree.getNodesList().stream().allMatch(PacketTriggers::fits);
  }

  /** Returns true if packets have the compared fields, and the monitor supports the comparisons. */
  private static boolean fits(ConditionTree.Node node) {
    return switch (node.getKindCase()) {
      case ALL -> true;
      case COMPARISON -> fits(node.getComparison());
      case MEMBERSHIP -> fits(node.getMembership());
      default -> false;
    };
  }

  private static boolean fits(ConditionTree.Comparison comparison) {
    if (comparison.getLeftCount() != 1 || comparison.getRightCount() != 1) {
      return false;
    }
    ConditionTree.Term left = comparison.getLeft(0);
    boolean isValue = comparison.getRight(0).hasLiteral() && !comparison.getRight(0).getNegative();
    boolean isField = left.hasField() && FIELDS.contains(left.getField().getName());
    boolean ordered = comparison.getOrder() != ConditionTree.Order.EQUAL;
    return isField && isValue && !(ordered && ADDRESSES.contains(left.getField().getName()));
  }

  private static boolean fits(ConditionTree.Membership membership) {
    String field = membership.getField().getName();
    boolean addressRange =
        ADDRESSES.contains(field)
            && membership.getRangesList().stream().anyMatch(ConditionTree.Range::hasHigh);
    return FIELDS.contains(field)
        && !membership.hasPattern()
        && !membership.getAnyElement()
        && !addressRange;
  }

  /** Returns where each trigger of a plan runs and why, as text for users. */
  static List<String> explain(Plan plan) {
    PacketTriggers here = new PacketTriggers(plan.getSampling(), plan.getFiltersList());
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < plan.getProcessorsCount(); i++) {
      Processor processor = plan.getProcessors(i);
      if (processor.hasTrigger()) {
        texts.add("processor %d: %s".formatted(i + 1, here.place(plan, i, processor)));
      }
    }
    return texts;
  }

  private String place(Plan plan, int index, Processor processor) {
    for (PacketTrigger trigger : plan.getTriggersList()) {
      if (trigger.getProcessor() == index) {
        return trigger.getPartial()
            ? "in the stream job, which combines the values that %d monitors compute from packets%s, in windows of %s"
                .formatted(
                    plan.getMonitorsCount(), narrowed(trigger), windows(processor.getWindow()))
            : "in the monitor, on packets%s, ".formatted(narrowed(trigger)) + reason(trigger);
      }
    }
    for (TupleTrigger trigger : plan.getTupleTriggersList()) {
      if (trigger.getProcessor() == index) {
        return "in the monitor, on tuples of %s, in windows of %s; also in the stream job, which provides the results"
            .formatted(processor.getParser(), windows(trigger.getWindow()));
      }
    }
    String explanation =
        TupleTriggers.isBrief(processor)
            ? TupleTriggers.obstacle(processor, sampling)
                .orElse("its tuples come from several monitors")
            : obstacle(processor).orElse("its windows are not shorter than the tuples' interval");
    return "in the stream job, on tuples of %s: %s".formatted(processor.getParser(), explanation);
  }

  private static String windows(Window window) {
    String every = Literals.durationText(window.getSlide());
    return overlaps(window)
        ? "%s every %s".formatted(Literals.durationText(window.getSize()), every)
        : every;
  }

  private static String reason(PacketTrigger trigger) {
    String every = Literals.durationText(trigger.getEvery());
    boolean emitted = MEASURES.containsKey(trigger.getParser());
    if (trigger.hasWindow()) {
      String windows = Literals.durationText(trigger.getWindow()) + " every " + every;
      return emitted
          ? "in windows of %s, because every= is shorter than the interval of %s"
              .formatted(windows, trigger.getParser())
          : "in windows of " + windows;
    }
    return emitted
        ? "because windows of %s are shorter than the interval of %s"
            .formatted(every, trigger.getParser())
        : "in windows of " + every;
  }

  private static String narrowed(PacketTrigger trigger) {
    String filter =
        trigger.hasFilter() ? " with " + ConditionPrinter.text(trigger.getFilter()) : "";
    List<String> groups = GroupWords.text(trigger.getGroupList(), trigger.getNetworksList());
    return trigger.getNetworksCount() == 0
        ? filter
        : "%s grouped by %s".formatted(filter, String.join(", ", groups));
  }
}
