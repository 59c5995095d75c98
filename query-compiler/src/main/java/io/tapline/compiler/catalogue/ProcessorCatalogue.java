package io.tapline.compiler.catalogue;

import io.tapline.aggregates.Aggregates;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.aggregates.MergeableAggregate.Input;
import io.tapline.compiler.catalogue.ProcessorInfo.ArgumentInfo;
import io.tapline.compiler.catalogue.ProcessorInfo.ArgumentType;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The processors that PROCESS accepts, with the descriptions that {@code tapline processors} shows.
 */
public final class ProcessorCatalogue {
  public static final int MAX_K = 10_000;
  public static final int DEFAULT_K = 10;
  public static final long SHORTEST_WINDOW_NS = 10 * Literals.NS_PER_MS;

  /** Shortest window of a trigger that the monitor tests. */
  public static final long SHORTEST_PACKET_WINDOW_NS = Literals.NS_PER_MS;

  public static final long LONGEST_WINDOW_NS = 24L * 3600 * 1000 * Literals.NS_PER_MS;
  public static final long DEFAULT_WINDOW_NS = 10_000 * Literals.NS_PER_MS;

  /** Maximum number of panes in a window: each pane uses memory per key in the stream job. */
  public static final int MAX_PANES = 10_000;

  public static final List<String> ORDERS = List.of("desc", "asc");
  public static final List<String> SEVERITIES = List.of("info", "warning", "critical");
  public static final int MAX_AFTER = 1000;
  public static final String DEFAULT_CONDITION = "count > 0";

  /** Aggregates whose processor is named "group-…"; {@link #AGGREGATES} lists them first. */
  private static final List<String> USUAL = List.of("count", "sum", "max", "min", "avg");

  private static final String COUNTABLE =
      "a numeric field; or a Boolean field or half_seen, to count the tuples for which it is true";

  /** Aggregates that both agg= and conditions may name. */
  public static final List<String> AGGREGATES = numbers();

  private static final String CONDITIONS =
      "count or flows, or count, sum, avg, max, min, "
          + others()
          + "rate, distinct or p1 to p99.9 of (field), or count or share of (condition on tuples); >, >=, < or <=; a number, size or duration";

  private static final List<Definition> DEFINITIONS = definitions();

  private ProcessorCatalogue() {}

  /** The way in which a processor is compiled. */
  public enum Family {
    TOP_K,
    DIFF,
    GROUP,
    RATE,
    DISTINCT,
    JOIN,
    FILTER,
    TRIGGER
  }

  /**
   * A processor and how it is compiled.
   *
   * @param aggregate null if the arguments choose it
   */
  public record Definition(Family family, ProcessorInfo info, MergeableAggregate aggregate) {}

  private static List<Definition> definitions() {
    List<Definition> all = new ArrayList<>();
    all.add(new Definition(Family.TOP_K, topK(), null));
    all.add(diff("diff-group", "each group's distribution of durations", "distribution"));
    all.add(diff("diff-group-avg", "each group's mean duration", "avg"));
    for (MergeableAggregate aggregate : Aggregates.all()) {
      if (USUAL.contains(aggregate.name())) {
        String description = aggregate.description().replaceFirst("^the ", "each group's ");
        all.add(group("group-" + aggregate.name(), description, aggregate));
      }
    }
    Aggregates.all().stream()
        .filter(MergeableAggregate::isProcessor)
        .map(ProcessorCatalogue::processor)
        .forEach(all::add);
    all.add(new Definition(Family.DIFF, diff(), Aggregates.named("avg")));
    all.add(new Definition(Family.GROUP, chosen("group", "an aggregate of each group"), null));
    String join = "an aggregate by fields of another parser's tuple of the same flow";
    all.add(new Definition(Family.JOIN, chosen("join", join), null));
    all.add(new Definition(Family.FILTER, filter(), null));
    all.add(new Definition(Family.TRIGGER, trigger(), null));
    return List.copyOf(all);
  }

  /** Returns the processor that provides an aggregate under its own name. */
  private static Definition processor(MergeableAggregate aggregate) {
    String name = aggregate.name().replace('_', '-');
    if (aggregate.input() == Input.HASHES) {
      return new Definition(Family.DISTINCT, distinct(name, aggregate.description()), aggregate);
    } else if (aggregate.needsWindow()) {
      return new Definition(Family.RATE, rate(name, aggregate.description()), aggregate);
    }
    return group(name, aggregate.description(), aggregate);
  }

  private static List<String> numbers() {
    Stream<String> others =
        Aggregates.all().stream()
            .filter(one -> one.isNumber() && !one.takesShare() && !one.needsWindow())
            .filter(one -> one.input() != Input.HASHES)
            .map(MergeableAggregate::name)
            .filter(name -> !USUAL.contains(name));
    return Stream.concat(USUAL.stream(), others).toList();
  }

  /** Returns the {@link #AGGREGATES} that are not in {@link #USUAL}, each followed by a comma. */
  private static String others() {
    StringBuilder text = new StringBuilder();
    AGGREGATES.stream().skip(USUAL.size()).forEach(name -> text.append(name).append(", "));
    return text.toString();
  }

  /** Returns all processors, in the order in which they are shown. */
  public static List<ProcessorInfo> all() {
    return DEFINITIONS.stream().map(Definition::info).toList();
  }

  /** Returns the processor with this name; ignores case, and treats '-' as '_'. */
  public static Optional<ProcessorInfo> find(String name) {
    return definition(name).map(Definition::info);
  }

  public static Optional<Definition> definition(String name) {
    return DEFINITIONS.stream().filter(one -> Names.same(one.info().name(), name)).findFirst();
  }

  public static List<String> names() {
    return DEFINITIONS.stream().map(one -> one.info().name()).toList();
  }

  private static ProcessorInfo topK() {
    return new ProcessorInfo(
        "top-k",
        "the k keys with the most tuples, or the largest values, over a rolling window",
        List.of(
            new ArgumentInfo("k", ArgumentType.INTEGER, "10", "1 to " + MAX_K, "rows kept"),
            new ArgumentInfo(
                "w", ArgumentType.DURATION, "10s", "10ms to 24h", "length of the window"),
            slide("w/10, at least 1s, at most w"),
            new ArgumentInfo(
                "by",
                ArgumentType.FIELD,
                "none: tuples are counted",
                COUNTABLE,
                "field to rank by"),
            new ArgumentInfo(
                "order",
                ArgumentType.CHOICE,
                "desc",
                Names.either(ORDERS),
                "desc: largest first; asc: smallest first"),
            new ArgumentInfo(
                "key",
                ArgumentType.FIELDS,
                "the parser's main fields",
                "fields",
                "fields that identify a row"),
            new ArgumentInfo(
                "agg",
                ArgumentType.CHOICE,
                "count; with by=, the sum if additive, else the max (the min with order=asc)",
                Names.either(AGGREGATES),
                "how a key's values are aggregated")));
  }

  private static Definition diff(String name, String description, String aggregate) {
    String whole = description + ", from the start to the end that the first parser reports";
    List<ArgumentInfo> arguments = new ArrayList<>(List.of(groupBy()));
    arguments.addAll(queryWindow());
    return new Definition(
        Family.DIFF, new ProcessorInfo(name, whole, arguments), Aggregates.named(aggregate));
  }

  private static Definition group(String name, String description, MergeableAggregate aggregate) {
    List<ArgumentInfo> arguments = new ArrayList<>(List.of(groupBy()));
    if (aggregate.input() != Input.TUPLES) {
      arguments.add(aggregated());
    }
    if (aggregate.takesShare()) {
      arguments.add(
          new ArgumentInfo(
              "p",
              ArgumentType.NUMBER,
              "99",
              "above 0 to 100",
              "percentage of values that do not exceed the result"));
    }
    arguments.addAll(queryWindow());
    return new Definition(Family.GROUP, new ProcessorInfo(name, description, arguments), aggregate);
  }

  private static ProcessorInfo rate(String name, String description) {
    List<ArgumentInfo> arguments = new ArrayList<>(List.of(groupBy()));
    arguments.add(
        new ArgumentInfo(
            "by", ArgumentType.FIELD, "none: tuples are counted", COUNTABLE, "field to sum"));
    arguments.add(
        new ArgumentInfo("w", ArgumentType.DURATION, "10s", "10ms to 24h", "length of the window"));
    arguments.add(slide("w/10, at least 1s, at most w"));
    return new ProcessorInfo(name, description, arguments);
  }

  private static ProcessorInfo distinct(String name, String description) {
    List<ArgumentInfo> arguments = new ArrayList<>(List.of(groupBy()));
    arguments.add(
        new ArgumentInfo(
            "of",
            ArgumentType.FIELD,
            "the first of the parser's main fields",
            "a field",
            "field whose distinct values are counted"));
    arguments.addAll(queryWindow());
    return new ProcessorInfo(name, description, arguments);
  }

  private static ProcessorInfo diff() {
    List<ArgumentInfo> arguments = new ArrayList<>(List.of(groupBy()));
    arguments.add(
        new ArgumentInfo(
            "agg",
            ArgumentType.CHOICE,
            "avg",
            Names.either(AGGREGATES),
            "how a group's durations are aggregated"));
    arguments.addAll(queryWindow());
    return new ProcessorInfo(
        "diff", "durations from the start to the end that the first parser reports", arguments);
  }

  private static ProcessorInfo chosen(String name, String description) {
    List<ArgumentInfo> arguments = new ArrayList<>();
    arguments.add(
        name.equals("group")
            ? groupBy()
            : new ArgumentInfo(
                "group",
                ArgumentType.FIELDS,
                "the second parser's main fields",
                "fields of the first parser and one other",
                "fields that form the groups"));
    arguments.add(aggregated());
    arguments.add(
        new ArgumentInfo(
            "agg",
            ArgumentType.CHOICE,
            "count; with by= the sum",
            Names.either(AGGREGATES),
            "how a group's values are aggregated"));
    arguments.addAll(queryWindow());
    return new ProcessorInfo(name, description, arguments);
  }

  private static ProcessorInfo filter() {
    List<ArgumentInfo> arguments = new ArrayList<>(List.of(groupBy(), when(CONDITIONS)));
    arguments.addAll(queryWindow());
    return new ProcessorInfo("filter", "the groups that meet a condition", arguments);
  }

  private static ProcessorInfo trigger() {
    return new ProcessorInfo(
        "trigger",
        "alerts that begin and end with a condition on a group",
        List.of(
            new ArgumentInfo(
                "group",
                ArgumentType.GROUP,
                "none: one group",
                "fields; in the monitor also networks such as src_ip/24; flow: addresses and ports",
                "fields or networks that form the groups"),
            when(CONDITIONS + "; also expressions of several of these"),
            new ArgumentInfo(
                "only",
                ArgumentType.CONDITION,
                "none: all tuples",
                "a condition on fields, as in WHERE",
                "tuples that the trigger counts"),
            new ArgumentInfo(
                "every",
                ArgumentType.DURATION,
                "1s",
                "1ms to w",
                "how often the condition is tested"),
            new ArgumentInfo(
                "w", ArgumentType.DURATION, "every", "1ms to 24h", "length of the window"),
            new ArgumentInfo(
                "clear",
                ArgumentType.TEXT,
                "the threshold of when",
                "a number, size or duration, or a condition",
                "threshold, or condition, that ends an alert once it has begun"),
            new ArgumentInfo(
                "after",
                ArgumentType.INTEGER,
                "1",
                "1 to " + MAX_AFTER,
                "consecutive windows before an alert begins"),
            new ArgumentInfo(
                "cooldown",
                ArgumentType.DURATION,
                "none",
                "1ms to 24h",
                "min time between two alerts of a group"),
            new ArgumentInfo(
                "severity",
                ArgumentType.CHOICE,
                "warning",
                Names.either(SEVERITIES),
                "severity of the alert"),
            new ArgumentInfo(
                "webhook",
                ArgumentType.TEXT,
                "none",
                "an http or https URL that the inventory lists",
                "URL to which each alert is posted"),
            new ArgumentInfo(
                "topic",
                ArgumentType.TEXT,
                "none",
                "a Kafka topic: alerts.TENANT.… or one that the inventory lists",
                "topic to which each alert is sent")));
  }

  private static ArgumentInfo when(String values) {
    return new ArgumentInfo(
        "when",
        ArgumentType.CONDITION,
        DEFAULT_CONDITION,
        values,
        "condition that a group must meet");
  }

  private static ArgumentInfo aggregated() {
    return new ArgumentInfo(
        "by",
        ArgumentType.FIELD,
        "the parser's value field",
        "a numeric field",
        "field to aggregate");
  }

  private static ArgumentInfo groupBy() {
    return new ArgumentInfo(
        "group", ArgumentType.FIELDS, "none: one group", "fields", "fields that form the groups");
  }

  private static List<ArgumentInfo> queryWindow() {
    return List.of(
        new ArgumentInfo(
            "w",
            ArgumentType.DURATION,
            "none: the whole query",
            "10ms to 24h",
            "length of the window"),
        slide("w/10, at least 1s, at most w; 10s if w is not given"));
  }

  private static ArgumentInfo slide(String defaultText) {
    return new ArgumentInfo(
        "s",
        ArgumentType.DURATION,
        defaultText,
        "10ms to w; w and s make at most %d panes".formatted(MAX_PANES),
        "step from one window to the next");
  }
}
