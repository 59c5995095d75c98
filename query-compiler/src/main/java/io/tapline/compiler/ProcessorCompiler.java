package io.tapline.compiler;

import io.tapline.schema.proto.Aggregate;
import io.tapline.schema.proto.Difference;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Ranking;
import io.tapline.schema.proto.Value;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * One processor of PROCESS: from name and arguments to parser, key, value, aggregate and window.
 */
final class ProcessorCompiler {
  private final List<ParserInfo> parsers;
  private final Fields fields;
  private final Errors errors;

  /** REQUIRES: at least one parser. */
  ProcessorCompiler(List<ParserInfo> parsers, Catalogue catalogue, Errors errors) {
    this.parsers = parsers;
    this.fields = new Fields(parsers, catalogue, errors);
    this.errors = errors;
  }

  /** Checks what can be checked while not all parsers, and so not all fields, are known. */
  static void checkWithoutFields(Ast.Processor processor, Errors errors) {
    Optional<ProcessorCatalogue.Definition> definition = definition(processor, errors);
    if (definition.isEmpty()) {
      return;
    }
    Arguments arguments = new Arguments(processor, definition.get().info(), errors);
    if (definition.get().family() == ProcessorCatalogue.Family.TOP_K) {
      WindowReader.rolling(arguments, errors);
      k(arguments);
      arguments.choice("order", ProcessorCatalogue.ORDERS);
      arguments.choice("agg", ProcessorCatalogue.AGGREGATES);
    } else {
      WindowReader.wholeQueryOr(arguments, errors);
    }
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
    return arguments.integer("k", 1, ProcessorCatalogue.MOST_K, ProcessorCatalogue.DEFAULT_K);
  }

  /** Empty, with errors, if the processor is not known or lacks what it needs. */
  Optional<Processor> compile(Ast.Processor processor) {
    Optional<ProcessorCatalogue.Definition> definition = definition(processor, errors);
    if (definition.isEmpty()) {
      return Optional.empty();
    }
    Arguments arguments = new Arguments(processor, definition.get().info(), errors);
    Optional<Processor.Builder> compiled =
        switch (definition.get().family()) {
          case TOP_K -> topK(arguments);
          case DIFF -> diff(arguments, definition.get().aggregate());
          case GROUP -> group(arguments, definition.get().aggregate());
        };
    return compiled.map(builder -> builder.setName(definition.get().info().name()).build());
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
    Optional<ParserInfo> parser = withBy(preferred, arguments, "key");
    if (parser.isEmpty()) {
      return Optional.empty();
    }
    setKey(result, parser.get(), arguments, "key");
    if (!arguments.has("key")) {
      result.addAllKey(mainFields(parser.get(), arguments));
    }
    return ranked(result, parser.get(), arguments, ascending);
  }

  /**
   * The first parser that has the by= field as a number and all key fields, else the first that has
   * it as a number, else the first that has it at all.
   */
  private Optional<ParserInfo> withBy(
      List<ParserInfo> candidates, Arguments arguments, String keyArgument) {
    Optional<Ast.Word> by = arguments.word("by");
    List<ParserInfo> owners = by.map(word -> Fields.having(candidates, word)).orElse(candidates);
    if (owners.isEmpty()) {
      fields.unknown(by.orElseThrow());
      fields.key(parsers.get(0), arguments.words(keyArgument));
      return Optional.empty();
    }
    List<ParserInfo> numeric =
        by.map(word -> Fields.havingNumber(owners, word))
            .filter(list -> !list.isEmpty())
            .orElse(owners);
    return Optional.of(Fields.firstHaving(numeric, arguments.words(keyArgument)));
  }

  private void setKey(
      Processor.Builder result, ParserInfo parser, Arguments arguments, String argument) {
    Fields.Key key = fields.key(parser, arguments.words(argument));
    result.setParser(parser.name()).addAllKey(key.names());
    key.join().ifPresent(result::setJoin);
  }

  private List<String> mainFields(ParserInfo parser, Arguments arguments) {
    if (parser.mainFields().isEmpty()) {
      String names =
          parser.fields().stream().map(FieldInfo::name).collect(Collectors.joining(", "));
      String message = "%s has no main fields, so key is needed".formatted(parser.name());
      errors.conflict(arguments.processor().span(), message, "key= one of " + names);
    }
    return parser.mainFields();
  }

  private Optional<Processor.Builder> ranked(
      Processor.Builder result, ParserInfo parser, Arguments arguments, boolean ascending) {
    Optional<Aggregate> given =
        arguments
            .choice("agg", ProcessorCatalogue.AGGREGATES)
            .map(name -> Aggregate.valueOf(name.toUpperCase(Locale.ROOT)));
    boolean counts = given.isPresent() ? given.get() == Aggregate.COUNT : !arguments.has("by");
    if (counts) {
      if (arguments.has("by")) {
        String message = "agg=count counts tuples, so by has no effect";
        errors.conflict(
            arguments.span("by"), message, "agg=count without by, or sum, max, min or avg");
      }
      return Optional.of(result.setValue(counted()).setAggregate(Aggregate.COUNT));
    }
    return value(parser, arguments, "agg")
        .map(
            field -> {
              Aggregate byField =
                  field.additive() ? Aggregate.SUM : ascending ? Aggregate.MIN : Aggregate.MAX;
              return result.setValue(valueOf(field)).setAggregate(given.orElse(byField));
            });
  }

  private Optional<Processor.Builder> diff(Arguments arguments, Aggregate aggregate) {
    ParserInfo parser = parsers.get(0);
    Processor.Builder result =
        Processor.newBuilder()
            .setAggregate(aggregate)
            .setWindow(WindowReader.wholeQueryOr(arguments, errors));
    setKey(result, parser, arguments, "group");
    if (parser.duration().isEmpty()) {
      noDuration(parser, arguments.processor());
      return Optional.empty();
    }
    return Optional.of(result.setValue(duration(parser)));
  }

  private void noDuration(ParserInfo parser, Ast.Word processor) {
    String able =
        fields.catalogue().parsers().stream()
            .filter(other -> other.duration().isPresent())
            .map(ParserInfo::name)
            .collect(Collectors.joining(", "));
    String message =
        "%s, first in PARSE, has no start and end to subtract".formatted(parser.name());
    errors.conflict(processor.span(), message, "first in PARSE one of " + able);
  }

  private static Value duration(ParserInfo parser) {
    ParserInfo.DurationSource source = parser.duration().orElseThrow();
    if (source instanceof ParserInfo.DurationField field) {
      return valueOf(parser.field(field.field()).orElseThrow());
    }
    ParserInfo.DurationEvents events = (ParserInfo.DurationEvents) source;
    Difference difference =
        Difference.newBuilder()
            .setEventField(events.eventField())
            .addAllStart(events.start())
            .addAllEnd(events.end())
            .build();
    return Value.newBuilder().setDifference(difference).setUnit("ns").build();
  }

  private Optional<Processor.Builder> group(Arguments arguments, Aggregate aggregate) {
    Processor.Builder result =
        Processor.newBuilder()
            .setAggregate(aggregate)
            .setWindow(WindowReader.wholeQueryOr(arguments, errors));
    Optional<ParserInfo> parser = groupParser(arguments, aggregate);
    if (parser.isEmpty()) {
      return Optional.empty();
    }
    setKey(result, parser.get(), arguments, "group");
    if (aggregate == Aggregate.COUNT) {
      return Optional.of(result.setValue(counted()));
    }
    return value(parser.get(), arguments, "by")
        .map(
            field -> {
              warnOfSum(field, aggregate);
              return result.setValue(valueOf(field));
            });
  }

  /**
   * Counts: the parser with all group fields. by=: one that has it. Else the first that has a value
   * of its own.
   */
  private Optional<ParserInfo> groupParser(Arguments arguments, Aggregate aggregate) {
    if (aggregate == Aggregate.COUNT) {
      return Optional.of(Fields.firstHaving(parsers, arguments.words("group")));
    } else if (arguments.has("by")) {
      return withBy(parsers, arguments, "group");
    }
    return Optional.of(
        parsers.stream()
            .filter(p -> p.valueField().isPresent())
            .findFirst()
            .orElse(parsers.get(0)));
  }

  /** The field of by=, else the parser's value field. */
  private Optional<FieldInfo> value(ParserInfo parser, Arguments arguments, String asking) {
    if (arguments.has("by")) {
      return fields.numeric(parser, arguments.word("by").orElseThrow());
    }
    Optional<FieldInfo> field = parser.valueField().flatMap(parser::field);
    if (field.isEmpty()) {
      String message = "%s has no value field of its own, so by is needed".formatted(parser.name());
      errors.conflict(arguments.span(asking), message, "by= one of " + Fields.numericNames(parser));
    }
    return field;
  }

  private void warnOfSum(FieldInfo field, Aggregate aggregate) {
    if (aggregate == Aggregate.SUM && !field.additive()) {
      errors.warning(
          "sums of %s mean little; group-avg, group-max or group-min may be what is wanted"
              .formatted(field.name()));
    }
  }

  private static Value counted() {
    return Value.newBuilder().setCount(Value.Count.getDefaultInstance()).setUnit("count").build();
  }

  private static Value valueOf(FieldInfo field) {
    return Value.newBuilder().setField(field.name()).setUnit(field.unit()).build();
  }
}
