package io.tapline.compiler;

import com.google.protobuf.util.Durations;
import io.tapline.aggregates.Aggregates;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.aggregates.MergeableAggregate.Input;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.QueryError;
import io.tapline.compiler.text.Span;
import io.tapline.schema.proto.Join;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Ranking;
import io.tapline.schema.proto.Window;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Compiles one processor of PROCESS: turns its name and arguments into parser, key, value,
 * aggregate and window.
 */
final class ProcessorCompiler {
  static final int MAX_PROCESSORS = 64;

  private final List<ParserInfo> parsers;
  private final Fields fields;
  private final Operands operands;
  private final GroupConditions conditions;
  private final GroupExpressions expressions;
  private final OnlyReader only;
  private final TriggerReader triggers;
  private final PacketTriggers packets;
  private final PacketTriggerReader packetTriggers;
  private final Errors errors;

  /** Creates a compiler for the processors of a query. REQUIRES: at least one parser. */
  ProcessorCompiler(
      List<ParserInfo> parsers,
      Catalogue catalogue,
      Inventory inventory,
      Compiler.Options options,
      PacketTriggers packets,
      Errors errors) {
    this.parsers = parsers;
    this.fields = new Fields(parsers, catalogue, errors);
    this.operands = new Operands(fields);
    this.conditions = new GroupConditions(fields, inventory);
    this.expressions = new GroupExpressions(conditions, errors);
    this.only = new OnlyReader(fields, inventory, errors);
    this.triggers = new TriggerReader(inventory, options, errors);
    this.packets = packets;
    this.packetTriggers = new PacketTriggerReader(fields, packets);
    this.errors = errors;
  }

  /** Reports an error and returns false if PROCESS has more processors than a job supports. */
  static boolean areFewEnough(List<Ast.Processor> processors, Errors errors) {
    if (processors.size() <= MAX_PROCESSORS) {
      return true;
    }
    String message = "PROCESS has %d processors".formatted(processors.size());
    Span place = processors.get(MAX_PROCESSORS).name().span();
    errors.add(place, QueryError.Code.TOO_LARGE, message, "at most " + MAX_PROCESSORS, "");
    return false;
  }

  /**
   * Checks everything that does not depend on fields, for queries with unknown parsers.
   *
   * @param parsers upper bound on the number of the query's parsers
   */
  static void checkWithoutFields(Ast.Processor processor, int parsers, Errors errors) {
    Optional<ProcessorCatalogue.Definition> definition = definition(processor, errors);
    if (definition.isEmpty()) {
      return;
    }
    Arguments arguments = new Arguments(processor, definition.get().info(), errors);
    switch (definition.get().family()) {
      case TOP_K -> {
        WindowReader.rolling(arguments, errors);
        k(arguments);
        arguments.choice("order", ProcessorCatalogue.ORDERS);
        if (aggregate(arguments).filter(ProcessorCompiler::countsTuples).isPresent()) {
          rejectBy(arguments, errors);
        }
      }
      case RATE -> WindowReader.rolling(arguments, errors);
      case JOIN -> {
        hasTwoParsers(arguments, parsers, errors);
        aggregate(arguments);
        WindowReader.wholeQueryOr(arguments, errors);
      }
      case FILTER ->
          GroupConditions.check(arguments, WindowReader.wholeQueryOr(arguments, errors), errors);
      case TRIGGER -> {
        Window window = WindowReader.every(arguments, errors);
        if (!PacketTriggerReader.isPossible(arguments) && !GroupExpressions.isNeeded(arguments)) {
          GroupConditions.check(arguments, window, errors);
        }
        OnlyReader.check(arguments, errors);
        TriggerReader.checkForms(arguments, errors);
      }
      case DIFF, GROUP, DISTINCT -> {
        aggregate(arguments);
        arguments.percent("p", 0);
        WindowReader.wholeQueryOr(arguments, errors);
      }
    }
  }

  /** Returns the aggregate that agg= names. */
  private static Optional<MergeableAggregate> aggregate(Arguments arguments) {
    return arguments.choice("agg", ProcessorCatalogue.AGGREGATES).map(Aggregates::named);
  }

  private static boolean countsTuples(MergeableAggregate aggregate) {
    return aggregate.input() == Input.TUPLES;
  }

  private static Optional<ProcessorCatalogue.Definition> definition(
      Ast.Processor processor, Errors errors) {
    Optional<ProcessorCatalogue.Definition> definition =
        ProcessorCatalogue.definition(processor.name().text());
    if (definition.isEmpty()) {
      errors.unknown(processor.name(), "processor", ProcessorCatalogue.names());
    }
    return definition;
  }

  private static int k(Arguments arguments) {
    return arguments.integer("k", 1, ProcessorCatalogue.MAX_K, ProcessorCatalogue.DEFAULT_K);
  }

  /**
   * Compiles a processor. Reports errors and returns nothing if it is unknown or incomplete.
   *
   * @param number number of the processor in the plan, from 0
   */
  Optional<Processor> compile(Ast.Processor processor, int number) {
    Optional<ProcessorCatalogue.Definition> definition = definition(processor, errors);
    if (definition.isEmpty()) {
      return Optional.empty();
    }
    Arguments arguments = new Arguments(processor, definition.get().info(), errors);
    Optional<Processor.Builder> compiled =
        switch (definition.get().family()) {
          case TOP_K -> topK(arguments);
          case DIFF -> diff(arguments, chosen(arguments, definition.get().aggregate()));
          case GROUP -> group(arguments, chosen(arguments, definition.get().aggregate()));
          case RATE -> rate(arguments, definition.get().aggregate());
          case DISTINCT -> distinct(arguments, definition.get().aggregate());
          case JOIN -> join(arguments);
          case FILTER ->
              conditions.compile(arguments, WindowReader.wholeQueryOr(arguments, errors));
          case TRIGGER -> trigger(arguments);
        };
    compiled.ifPresent(builder -> complete(builder, arguments, number));
    return compiled.map(builder -> builder.setName(definition.get().info().name()).build());
  }

  /** Adds the parts that depend on the chosen parser, and reports errors in them. */
  private void complete(Processor.Builder result, Arguments arguments, int number) {
    ParserInfo parser =
        parsers.stream().filter(p -> p.name().equals(result.getParser())).findFirst().orElseThrow();
    Processor compiled = result.build();
    if (parser.counted()) {
      packetTriggers.complete(result, arguments, number);
      return;
    }
    if (arguments.has("every") && PacketTriggers.needsPackets(compiled, parser)) {
      packets
          .obstacle(compiled)
          .ifPresentOrElse(
              reason -> IntervalReader.refuse(parser, arguments, reason, errors),
              () -> packets.addMeasured(number, compiled));
      return;
    }
    isLongEnough(compiled, arguments);
    PacketTriggers.refuseNetworks(compiled, arguments, errors);
    OnlyReader.checkInJob(compiled, arguments, errors);
    result.setWindow(IntervalReader.fit(result.getWindow(), parser, arguments, errors));
    if (parser.knowsAnswers()) {
      result.setAnswers(true);
    }
  }

  /**
   * Reports an error if a trigger's windows are too short for the stream job, unless the monitor
   * can test them.
   */
  private void isLongEnough(Processor processor, Arguments arguments) {
    long everyNs = Durations.toNanos(processor.getWindow().getSlide());
    if (!processor.hasTrigger() || everyNs >= ProcessorCatalogue.SHORTEST_WINDOW_NS) {
      return;
    }
    packets
        .obstacleToShortWindows(processor)
        .ifPresent(
            reason -> {
              String message = "every=%s is out of range".formatted(Literals.durationText(everyNs));
              errors.range(arguments.span("every"), message, "10ms or more, since " + reason);
            });
  }

  /**
   * Returns the aggregate that agg= names, else the fallback. If that is null, returns sum if by=
   * is given, else count.
   */
  private static MergeableAggregate chosen(Arguments arguments, MergeableAggregate fallback) {
    MergeableAggregate withoutAgg =
        fallback != null ? fallback : Aggregates.named(arguments.has("by") ? "sum" : "count");
    return aggregate(arguments).orElse(withoutAgg);
  }

  private Optional<Processor.Builder> rate(Arguments arguments, MergeableAggregate aggregate) {
    MergeableAggregate kind = Aggregates.named(arguments.has("by") ? "sum" : "count");
    return group(arguments, kind, WindowReader.rolling(arguments, errors))
        .map(
            result -> {
              result.getValueBuilder().setUnit(aggregate.unit(result.getValue().getUnit()));
              return result.setAggregate(Aggregates.planName(aggregate));
            });
  }

  private Optional<Processor.Builder> distinct(Arguments arguments, MergeableAggregate aggregate) {
    Window window = WindowReader.wholeQueryOr(arguments, errors);
    return operands.different(arguments, aggregate, arguments.word("of"), window);
  }

  private static boolean hasTwoParsers(Arguments arguments, int parsers, Errors errors) {
    if (parsers < 2) {
      String message = "join needs the tuples of two parsers, and PARSE names one";
      errors.conflict(arguments.processor().span(), message, "a second parser in PARSE");
    }
    return parsers >= 2;
  }

  private Optional<Processor.Builder> join(Arguments arguments) {
    if (!hasTwoParsers(arguments, parsers.size(), errors)) {
      return Optional.empty();
    }
    MergeableAggregate aggregate = chosen(arguments, null);
    Window window = WindowReader.wholeQueryOr(arguments, errors);
    ParserInfo first = parsers.get(0);
    Processor.Builder result = Operands.aggregating(aggregate, window);
    if (arguments.has("group")) {
      operands.setKey(result, first, arguments, "group");
    } else {
      ParserInfo second = parsers.get(1);
      List<String> main = operands.mainFields(second, arguments);
      result
          .setParser(first.name())
          .addAllKey(main)
          .setJoin(Join.newBuilder().setParser(second.name()).addAllFields(main));
    }
    if (countsTuples(aggregate)) {
      return Optional.of(result.setValue(Values.counted()));
    }
    if (arguments.has("by")
        && Fields.having(List.of(first), arguments.word("by").get()).isEmpty()) {
      fields.unknown(arguments.word("by").get());
      return Optional.empty();
    }
    return operands
        .value(first, arguments, aggregate, "agg")
        .map(taken -> result.setValue(taken.value()));
  }

  private Optional<Processor.Builder> trigger(Arguments arguments) {
    Window window = WindowReader.every(arguments, errors);
    Optional<Processor.Builder> watched =
        packetTriggers
            .parser(arguments)
            .map(parser -> packetTriggers.compile(parser, arguments, window))
            .or(
                () ->
                    GroupExpressions.isNeeded(arguments)
                        ? expressions.compile(arguments, window)
                        : conditions.compile(arguments, window));
    watched.ifPresent(result -> only.narrow(result, arguments));
    return watched.map(
        result ->
            result
                .setTrigger(triggers.read(arguments, result))
                .addAllNetworks(arguments.networks()));
  }

  private Optional<Processor.Builder> topK(Arguments arguments) {
    Processor.Builder result =
        Processor.newBuilder().setWindow(WindowReader.rolling(arguments, errors));
    boolean ascending =
        arguments.choice("order", ProcessorCatalogue.ORDERS).equals(Optional.of("asc"));
    result.setRanking(Ranking.newBuilder().setK(k(arguments)).setAscending(ascending));
    List<ParserInfo> preferred =
        parsers.stream()
            .sorted(Comparator.comparing(p -> p.layer() != ParserInfo.Layer.APPLICATION))
            .toList();
    Optional<ParserInfo> parser = operands.withBy(preferred, arguments, "key");
    if (parser.isEmpty()) {
      return Optional.empty();
    }
    operands.setKey(result, parser.get(), arguments, "key");
    if (!arguments.has("key")) {
      result.addAllKey(operands.mainFields(parser.get(), arguments));
    }
    return ranked(result, parser.get(), arguments, ascending);
  }

  private Optional<Processor.Builder> ranked(
      Processor.Builder result, ParserInfo parser, Arguments arguments, boolean ascending) {
    Optional<MergeableAggregate> requested = aggregate(arguments);
    boolean counts = requested.isPresent() ? countsTuples(requested.get()) : !arguments.has("by");
    if (counts) {
      rejectBy(arguments, errors);
      return Optional.of(result.setValue(Values.counted()));
    }
    return operands
        .value(parser, arguments, requested.orElse(Aggregates.named("sum")), "agg")
        .map(
            taken -> {
              String byField = taken.additive() ? "sum" : ascending ? "min" : "max";
              MergeableAggregate effective = requested.orElse(Aggregates.named(byField));
              return result.setValue(taken.value()).setAggregate(Aggregates.planName(effective));
            });
  }

  private static void rejectBy(Arguments arguments, Errors errors) {
    if (arguments.has("by")) {
      String message = "agg=count counts tuples, so by= has no effect";
      errors.conflict(
          arguments.span("by"), message, "agg=count without by, or sum, max, min or avg");
    }
  }

  private Optional<Processor.Builder> diff(Arguments arguments, MergeableAggregate aggregate) {
    ParserInfo parser = parsers.get(0);
    Processor.Builder result =
        Operands.aggregating(aggregate, WindowReader.wholeQueryOr(arguments, errors));
    operands.setKey(result, parser, arguments, "group");
    if (parser.duration().isEmpty()) {
      noDuration(parser, arguments.processor());
      return Optional.empty();
    }
    return Optional.of(result.setValue(Values.duration(parser)));
  }

  private void noDuration(ParserInfo parser, Ast.Word processor) {
    String able =
        fields.catalogue().parsers().stream()
            .filter(candidate -> candidate.duration().isPresent())
            .map(ParserInfo::name)
            .collect(Collectors.joining(", "));
    String message = "%s, the first parser in PARSE, reports no duration".formatted(parser.name());
    errors.conflict(processor.span(), message, "one of these parsers first in PARSE: " + able);
  }

  private Optional<Processor.Builder> group(Arguments arguments, MergeableAggregate aggregate) {
    Optional<Processor.Builder> result =
        group(arguments, aggregate, WindowReader.wholeQueryOr(arguments, errors));
    if (aggregate.takesShare()) {
      result.ifPresent(builder -> builder.setShare(arguments.percent("p", 99) / 100));
    }
    return result;
  }

  private Optional<Processor.Builder> group(
      Arguments arguments, MergeableAggregate aggregate, Window window) {
    Processor.Builder result = Operands.aggregating(aggregate, window);
    Optional<ParserInfo> parser = groupParser(arguments, aggregate);
    if (parser.isEmpty()) {
      return Optional.empty();
    }
    operands.setKey(result, parser.get(), arguments, "group");
    if (countsTuples(aggregate)) {
      return Optional.of(result.setValue(Values.counted()));
    }
    return operands
        .value(parser.get(), arguments, aggregate, "by")
        .map(
            taken -> {
              warnOfSum(taken, aggregate);
              return result.setValue(taken.value());
            });
  }

  /**
   * Returns the parser for groups. For counts, this is the first parser that has all group fields;
   * with by=, one that has the field; otherwise the first that has a default value field.
   */
  private Optional<ParserInfo> groupParser(Arguments arguments, MergeableAggregate aggregate) {
    if (countsTuples(aggregate)) {
      return Optional.of(Fields.firstHaving(parsers, arguments.words("group")));
    } else if (arguments.has("by")) {
      return operands.withBy(parsers, arguments, "group");
    }
    return Optional.of(
        parsers.stream()
            .filter(p -> p.valueField().isPresent())
            .findFirst()
            .orElse(parsers.get(0)));
  }

  private void warnOfSum(Operands.ResolvedValue field, MergeableAggregate aggregate) {
    if (aggregate.name().equals("sum") && !field.additive()) {
      errors.warning(
          "a sum of %s is rarely meaningful; did you mean group-avg, group-max or group-min?"
              .formatted(field.name()));
    }
  }
}
