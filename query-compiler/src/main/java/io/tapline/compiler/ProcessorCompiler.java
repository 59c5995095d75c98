package io.tapline.compiler;

import io.tapline.aggregates.Aggregates;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.aggregates.MergeableAggregate.Input;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.QueryError;
import io.tapline.compiler.text.Span;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.Join;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Ranking;
import io.tapline.schema.proto.Value;
import io.tapline.schema.proto.Window;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Compiles one processor of PROCESS: from name and arguments to parser, key, value, aggregate and
 * window.
 */
final class ProcessorCompiler {
  static final int MOST_PROCESSORS = 64;

  /** Aggregates of conditions that need no field. */
  private static final List<String> OF_TUPLES = List.of("count", "rate", "distinct");

  private final List<ParserInfo> parsers;
  private final Inventory inventory;
  private final Fields fields;
  private final TriggerReader triggers;
  private final Errors errors;

  /** REQUIRES: at least one parser. */
  ProcessorCompiler(
      List<ParserInfo> parsers,
      Catalogue catalogue,
      Inventory inventory,
      Compiler.Options options,
      Errors errors) {
    this.parsers = parsers;
    this.inventory = inventory;
    this.fields = new Fields(parsers, catalogue, errors);
    this.triggers = new TriggerReader(inventory, options, errors);
    this.errors = errors;
  }

  /** Returns true if PROCESS has no more processors than a job supports. */
  static boolean areFewEnough(List<Ast.Processor> processors, Errors errors) {
    if (processors.size() <= MOST_PROCESSORS) {
      return true;
    }
    String message = "PROCESS has %d processors".formatted(processors.size());
    Span place = processors.get(MOST_PROCESSORS).name().span();
    errors.add(place, QueryError.Code.TOO_LARGE, message, "at most " + MOST_PROCESSORS, "");
    return false;
  }

  /**
   * Checks what can be checked while not all parsers, and so not all fields, are known.
   *
   * @param parsers number of parsers that the query names
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
          checkCondition(arguments, WindowReader.wholeQueryOr(arguments, errors), errors);
      case TRIGGER -> {
        checkCondition(arguments, WindowReader.every(arguments, errors), errors);
        TriggerReader.checkForms(arguments, errors);
      }
      case DIFF, GROUP, DISTINCT -> {
        aggregate(arguments);
        arguments.percent("p", 0);
        WindowReader.wholeQueryOr(arguments, errors);
      }
    }
  }

  private static void checkCondition(Arguments arguments, Window window, Errors errors) {
    Ast.Word when = when(arguments);
    ConditionReader.read(when, errors)
        .filter(read -> isComplete(read, when, window, errors))
        .ifPresent(
            read ->
                Optional.ofNullable(read.tuples())
                    .ifPresent(tuples -> WhereReader.checkWithoutFields(tuples, errors)));
  }

  /** Returns the aggregate of agg=, if given. */
  private static Optional<MergeableAggregate> aggregate(Arguments arguments) {
    return arguments.choice("agg", ProcessorCatalogue.AGGREGATES).map(Aggregates::named);
  }

  private static boolean countsTuples(MergeableAggregate aggregate) {
    return aggregate.input() == Input.TUPLES;
  }

  /** Returns a processor without key and value. Plans leave out the name of counts. */
  private static Processor.Builder aggregating(MergeableAggregate aggregate, Window window) {
    String name = Aggregates.planName(aggregate);
    return Processor.newBuilder().setAggregate(name.equals("COUNT") ? "" : name).setWindow(window);
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

  /** Reports errors and returns nothing if the processor is unknown or lacks what it needs. */
  Optional<Processor> compile(Ast.Processor processor) {
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
          case FILTER -> filter(arguments, WindowReader.wholeQueryOr(arguments, errors));
          case TRIGGER -> trigger(arguments);
        };
    compiled.ifPresent(builder -> complete(builder, arguments));
    return compiled.map(builder -> builder.setName(definition.get().info().name()).build());
  }

  /** Adds what follows from the chosen parser. */
  private void complete(Processor.Builder result, Arguments arguments) {
    ParserInfo parser =
        parsers.stream().filter(p -> p.name().equals(result.getParser())).findFirst().orElseThrow();
    result.setWindow(IntervalReader.fit(result.getWindow(), parser, arguments, errors));
    if (parser.knowsAnswers()) {
      result.setAnswers(true);
    }
  }

  /** Returns the aggregate of agg=, if the processor has it; else the processor's default. */
  private static MergeableAggregate chosen(Arguments arguments, MergeableAggregate otherwise) {
    MergeableAggregate withoutAgg =
        otherwise != null ? otherwise : Aggregates.named(arguments.has("by") ? "sum" : "count");
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
    return different(arguments, aggregate, arguments.word("of"), window);
  }

  private Optional<Processor.Builder> different(
      Arguments arguments, MergeableAggregate aggregate, Optional<Ast.Word> of, Window window) {
    List<ParserInfo> owners = of.map(word -> Fields.having(parsers, word)).orElse(parsers);
    if (owners.isEmpty()) {
      fields.unknown(of.orElseThrow());
      return Optional.empty();
    }
    ParserInfo parser = Fields.firstHaving(owners, arguments.words("group"));
    Processor.Builder result = aggregating(aggregate, window);
    setKey(result, parser, arguments, "group");
    if (of.isEmpty() && mainFields(parser, arguments).isEmpty()) {
      return Optional.empty();
    }
    String field =
        of.map(word -> Catalogue.field(parser, word.text()).orElseThrow().name())
            .orElseGet(() -> parser.mainFields().get(0));
    return Optional.of(
        result.setValue(Value.newBuilder().setField(field).setUnit(aggregate.unit(""))));
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
    Processor.Builder result = aggregating(aggregate, window);
    if (arguments.has("group")) {
      setKey(result, first, arguments, "group");
    } else {
      ParserInfo second = parsers.get(1);
      List<String> main = mainFields(second, arguments);
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
    return value(first, arguments, aggregate, "agg").map(taken -> result.setValue(taken.value()));
  }

  /** Compiles groups by the aggregate and field of a condition, which they must meet. */
  private Optional<Processor.Builder> filter(Arguments arguments, Window window) {
    Ast.Word when = when(arguments);
    return ConditionReader.read(when, errors)
        .flatMap(
            read ->
                conditioned(arguments, read, when, window)
                    .map(result -> result.setCondition(read.condition())));
  }

  private static Ast.Word when(Arguments arguments) {
    Span processor = arguments.processor().span();
    return arguments
        .word("when")
        .orElse(new Ast.Word(ProcessorCatalogue.DEFAULT_CONDITION, "", processor));
  }

  /**
   * Returns true if a condition's aggregate exists, and has the field, tuples and window that it
   * needs.
   */
  private static boolean isComplete(
      ConditionReader.Read read, Ast.Word when, Window window, Errors errors) {
    String aggregate = read.aggregate();
    boolean hasField = read.field() != null;
    boolean known =
        OF_TUPLES.contains(aggregate)
            || ProcessorCatalogue.AGGREGATES.contains(aggregate)
            || percentile(aggregate).isPresent();
    String wrong = "";
    String example = "for example \"sum(bytes) > 10MB\" or \"count >= 100\"";
    if (aggregate.equals("share") || read.tuples() != null) {
      example = "for example \"share(status >= 500) > 0.2\"";
      if (!hasField && read.tuples() == null) {
        wrong = "share needs a condition";
      } else if (!aggregate.equals("share") && !aggregate.equals("count")) {
        wrong = aggregate + " takes a field, and only count and share take a condition";
      }
    } else if (!known) {
      wrong = "unknown aggregate " + aggregate;
    } else if (!hasField && !OF_TUPLES.contains(aggregate)) {
      wrong = aggregate + " needs a field";
    } else if (aggregate.equals("rate") && !window.hasSize()) {
      errors.conflict(when.span(), "a rate needs a window", "w, for example w=10s");
      return false;
    }
    if (!wrong.isEmpty()) {
      errors.type(when.span(), wrong, example);
    }
    return wrong.isEmpty();
  }

  private Optional<Processor.Builder> conditioned(
      Arguments arguments, ConditionReader.Read read, Ast.Word when, Window window) {
    if (!isComplete(read, when, window, errors)) {
      return Optional.empty();
    }
    Optional<Ast.Word> field = Optional.ofNullable(read.field());
    String aggregate = read.aggregate();
    if (aggregate.equals("share") || read.tuples() != null) {
      return asked(arguments, read, window);
    }
    if (aggregate.equals("distinct")) {
      return different(arguments, Aggregates.named(aggregate), field, window);
    }
    if (aggregate.equals("count") && field.isPresent()) {
      return present(arguments, field.get(), window);
    }
    if (aggregate.equals("count") || aggregate.equals("rate") && field.isEmpty()) {
      ParserInfo parser = Fields.firstHaving(parsers, arguments.words("group"));
      Processor.Builder result =
          aggregating(Aggregates.named(aggregate), window).setValue(Values.counted());
      setKey(result, parser, arguments, "group");
      return Optional.of(result);
    }
    Optional<Double> share = percentile(aggregate);
    List<ParserInfo> owners = withCountable(field.get());
    if (owners.isEmpty()) {
      fields.unknown(field.get());
      return Optional.empty();
    }
    ParserInfo parser = Fields.firstHaving(owners, arguments.words("group"));
    MergeableAggregate meant = Aggregates.named(share.isPresent() ? "percentile" : aggregate);
    Processor.Builder result = aggregating(meant, window);
    setKey(result, parser, arguments, "group");
    share.ifPresent(result::setShare);
    return taken(parser, field.get(), meant).map(taken -> result.setValue(taken.value()));
  }

  private List<ParserInfo> withCountable(Ast.Word field) {
    return parsers.stream()
        .filter(p -> Catalogue.field(p, field.text()).isPresent() || Countable.has(p, field))
        .toList();
  }

  /** Compiles a count of tuples that have a value of the field. */
  private Optional<Processor.Builder> present(Arguments arguments, Ast.Word field, Window window) {
    List<ParserInfo> owners = Fields.having(parsers, field);
    if (owners.isEmpty()) {
      fields.unknown(field);
      return Optional.empty();
    }
    ParserInfo parser = Fields.firstHaving(owners, arguments.words("group"));
    Processor.Builder result = aggregating(Aggregates.named("count"), window);
    setKey(result, parser, arguments, "group");
    FieldInfo info = Catalogue.field(parser, field.text()).orElseThrow();
    return Optional.of(result.setValue(Values.of(info).toBuilder().setUnit("count")));
  }

  /**
   * Compiles {@code count(CONDITION)} and {@code share(CONDITION)}: the tuples that meet the
   * condition, among all.
   */
  private Optional<Processor.Builder> asked(
      Arguments arguments, ConditionReader.Read read, Window window) {
    boolean share = read.aggregate().equals("share");
    Optional<ParserInfo> parser = asked(arguments, read);
    if (parser.isEmpty()) {
      return Optional.empty();
    }
    Optional<ConditionTree> condition = condition(parser.get(), read);
    if (condition.isEmpty()) {
      return Optional.empty();
    }
    Processor.Builder result =
        aggregating(Aggregates.named(share ? "avg" : "sum"), window)
            .setValue(Values.of(condition.get(), share ? "" : "count"));
    setKey(result, parser.get(), arguments, "group");
    return Optional.of(result);
  }

  /** Returns the first parser that has all fields of the condition. */
  private Optional<ParserInfo> asked(Arguments arguments, ConditionReader.Read read) {
    List<Ast.Word> words = read.field() != null ? List.of(read.field()) : read.tuples().fields();
    List<ParserInfo> owners =
        parsers.stream()
            .filter(
                p ->
                    Fields.hasAll(p, words)
                        || read.field() != null && Countable.has(p, read.field()))
            .toList();
    if (owners.isEmpty()) {
      fields.noneHasAll(words);
      return Optional.empty();
    }
    return Optional.of(Fields.firstHaving(owners, arguments.words("group")));
  }

  private Optional<ConditionTree> condition(ParserInfo parser, ConditionReader.Read read) {
    if (read.field() == null) {
      return new ConditionTyper(parser, read.tuples(), inventory, errors)
          .typed(read.tuples().tree());
    }
    if (Countable.has(parser, read.field())) {
      return Optional.of(Countable.condition(parser, read.field()));
    }
    String message = "%s is not true or false of a tuple".formatted(read.field().text());
    errors.type(read.field().span(), message, "for example \"share(status >= 500) > 0.2\"");
    return Optional.empty();
  }

  /** Returns p50, p99.9… as a share. */
  private static Optional<Double> percentile(String aggregate) {
    return aggregate.startsWith("p")
        ? Literals.number(aggregate.substring(1))
            .map(number -> number.doubleValue() / 100)
            .filter(share -> share > 0 && share < 1)
        : Optional.empty();
  }

  private Optional<Processor.Builder> trigger(Arguments arguments) {
    Optional<Processor.Builder> watched = filter(arguments, WindowReader.every(arguments, errors));
    return watched.map(result -> result.setTrigger(triggers.read(arguments, result)));
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
   * Returns the first parser that has the by= field as a number and all key fields, else the first
   * that has it as a number, else the first that has it at all.
   */
  private Optional<ParserInfo> withBy(
      List<ParserInfo> candidates, Arguments arguments, String keyArgument) {
    Optional<Ast.Word> by = arguments.word("by");
    List<ParserInfo> owners = by.map(word -> Fields.having(candidates, word)).orElse(candidates);
    List<ParserInfo> counted =
        by.map(word -> candidates.stream().filter(p -> Countable.has(p, word)).toList())
            .orElse(List.of());
    if (!counted.isEmpty()) {
      return Optional.of(Fields.firstHaving(counted, arguments.words(keyArgument)));
    }
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
    Optional<MergeableAggregate> given = aggregate(arguments);
    boolean counts = given.isPresent() ? countsTuples(given.get()) : !arguments.has("by");
    if (counts) {
      rejectBy(arguments, errors);
      return Optional.of(result.setValue(Values.counted()));
    }
    return value(parser, arguments, given.orElse(Aggregates.named("sum")), "agg")
        .map(
            taken -> {
              String byField = taken.additive() ? "sum" : ascending ? "min" : "max";
              MergeableAggregate meant = given.orElse(Aggregates.named(byField));
              return result.setValue(taken.value()).setAggregate(Aggregates.planName(meant));
            });
  }

  private static void rejectBy(Arguments arguments, Errors errors) {
    if (arguments.has("by")) {
      String message = "agg=count counts tuples, so by has no effect";
      errors.conflict(
          arguments.span("by"), message, "agg=count without by, or sum, max, min or avg");
    }
  }

  private Optional<Processor.Builder> diff(Arguments arguments, MergeableAggregate aggregate) {
    ParserInfo parser = parsers.get(0);
    Processor.Builder result = aggregating(aggregate, WindowReader.wholeQueryOr(arguments, errors));
    setKey(result, parser, arguments, "group");
    if (parser.duration().isEmpty()) {
      noDuration(parser, arguments.processor());
      return Optional.empty();
    }
    return Optional.of(result.setValue(Values.duration(parser)));
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
    Processor.Builder result = aggregating(aggregate, window);
    Optional<ParserInfo> parser = groupParser(arguments, aggregate);
    if (parser.isEmpty()) {
      return Optional.empty();
    }
    setKey(result, parser.get(), arguments, "group");
    if (countsTuples(aggregate)) {
      return Optional.of(result.setValue(Values.counted()));
    }
    return value(parser.get(), arguments, aggregate, "by")
        .map(
            taken -> {
              warnOfSum(taken, aggregate);
              return result.setValue(taken.value());
            });
  }

  /**
   * Chooses, for counts, the parser with all group fields; with by=, one that has the field; else
   * the first that has a default value.
   */
  private Optional<ParserInfo> groupParser(Arguments arguments, MergeableAggregate aggregate) {
    if (countsTuples(aggregate)) {
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

  /**
   * The value that by= refers to.
   *
   * @param additive whether sums of it are meaningful
   */
  private record Taken(String name, Value value, boolean additive) {
    static Taken of(FieldInfo field, MergeableAggregate aggregate) {
      Value value = Values.of(field);
      String unit = aggregate.needsWindow() ? field.unit() : aggregate.unit(field.unit());
      return new Taken(field.name(), value.toBuilder().setUnit(unit).build(), field.additive());
    }
  }

  /** Returns a number or, for a field that is true or false, the count or share of tuples. */
  private Optional<Taken> taken(ParserInfo parser, Ast.Word word, MergeableAggregate aggregate) {
    if (!Countable.has(parser, word)) {
      return fields.numeric(parser, word).map(field -> Taken.of(field, aggregate));
    }
    if (!aggregate.takesFlags()) {
      String message =
          "%s is true or false, and has no %s".formatted(word.text(), aggregate.name());
      errors.type(word.span(), message, "sum to count tuples, or avg for their share");
      return Optional.empty();
    }
    String unit = aggregate.name().equals("avg") ? "" : "count";
    Value value = Values.of(Countable.condition(parser, word), unit);
    return Optional.of(new Taken(word.text(), value, true));
  }

  /** Returns the field of by=, else the parser's value field. */
  private Optional<Taken> value(
      ParserInfo parser, Arguments arguments, MergeableAggregate aggregate, String asking) {
    if (arguments.has("by")) {
      return taken(parser, arguments.word("by").orElseThrow(), aggregate);
    }
    Optional<FieldInfo> field = parser.valueField().flatMap(parser::field);
    if (field.isEmpty()) {
      String message = "%s has no value field of its own, so by is needed".formatted(parser.name());
      errors.conflict(arguments.span(asking), message, "by= one of " + Fields.numericNames(parser));
    }
    return field.map(one -> Taken.of(one, aggregate));
  }

  private void warnOfSum(Taken field, MergeableAggregate aggregate) {
    if (aggregate.name().equals("sum") && !field.additive()) {
      errors.warning(
          "sums of %s mean little; group-avg, group-max or group-min may be what is wanted"
              .formatted(field.name()));
    }
  }
}
