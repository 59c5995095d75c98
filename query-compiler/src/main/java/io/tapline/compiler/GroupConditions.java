package io.tapline.compiler;

import io.tapline.aggregates.Aggregates;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.compiler.conditions.ConditionPrinter;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.Span;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Window;
import java.util.List;
import java.util.Optional;

/**
 * Compiles what filter and trigger have in common: groups, and the condition that they must meet.
 */
final class GroupConditions {
  /** Aggregates that need no field in a condition. */
  private static final List<String> OF_TUPLES = List.of("count", "rate", "distinct", "flows");

  /** The field that identifies a tuple's flow. */
  private static final String FLOW = "flow_hash";

  private final Fields fields;
  private final Operands operands;
  private final Inventory inventory;
  private final Errors errors;

  GroupConditions(Fields fields, Inventory inventory) {
    this.fields = fields;
    this.operands = new Operands(fields);
    this.inventory = inventory;
    this.errors = fields.errors();
  }

  /** Checks everything that does not depend on fields, for queries with unknown parsers. */
  static void check(Arguments arguments, Window window, Errors errors) {
    Ast.Word when = when(arguments);
    ConditionReader.read(when, errors)
        .map(ConditionReader.Read::call)
        .filter(call -> isComplete(call, when, window, errors))
        .ifPresent(
            call ->
                Optional.ofNullable(call.tuples())
                    .ifPresent(tuples -> WhereReader.checkWithoutFields(tuples, errors)));
  }

  /** Compiles the groups and the condition that they must meet; empty after an error. */
  Optional<Processor.Builder> compile(Arguments arguments, Window window) {
    Ast.Word when = when(arguments);
    return ConditionReader.read(when, errors)
        .flatMap(
            read ->
                aggregated(arguments, read.call(), when, window)
                    .map(result -> result.setCondition(read.condition())));
  }

  /** Returns the value of {@code when=}, or the default condition. */
  static Ast.Word when(Arguments arguments) {
    Span processor = arguments.processor().span();
    return arguments
        .word("when")
        .orElse(new Ast.Word(ProcessorCatalogue.DEFAULT_CONDITION, "", processor));
  }

  /**
   * Returns true if a condition's aggregate exists and has the field, condition on tuples or window
   * that it requires. Otherwise reports an error.
   */
  private static boolean isComplete(
      ConditionReader.Call call, Ast.Word when, Window window, Errors errors) {
    String aggregate = call.aggregate();
    boolean hasField = call.field() != null;
    boolean isKnown =
        OF_TUPLES.contains(aggregate)
            || ProcessorCatalogue.AGGREGATES.contains(aggregate)
            || Literals.percentile(aggregate).isPresent();
    String wrong = "";
    String example = "for example \"sum(bytes) > 10MB\" or \"count >= 100\"";
    if (aggregate.equals("share") || call.tuples() != null) {
      example = "for example \"share(status >= 500) > 0.2\"";
      if (!hasField && call.tuples() == null) {
        wrong = "share needs a condition";
      } else if (!aggregate.equals("share") && !aggregate.equals("count")) {
        wrong = aggregate + " takes a field, and only count and share take a condition";
      }
    } else if (!isKnown) {
      wrong = "unknown aggregate " + aggregate;
    } else if (!hasField && !OF_TUPLES.contains(aggregate)) {
      wrong = aggregate + " needs a field";
    } else if (hasField && aggregate.equals("flows")) {
      wrong = "flows takes no field";
      example = "for example \"flows > 100\"";
    } else if (aggregate.equals("rate") && !window.hasSize()) {
      errors.conflict(when.span(), "a rate needs a window", "w, for example w=10s");
      return false;
    }
    if (!wrong.isEmpty()) {
      errors.type(when.span(), wrong, example);
    }
    return wrong.isEmpty();
  }

  /**
   * Compiles the groups and one aggregate of their tuples; empty after an error.
   *
   * @param when argument that contains the aggregate
   */
  Optional<Processor.Builder> aggregated(
      Arguments arguments, ConditionReader.Call call, Ast.Word when, Window window) {
    if (!isComplete(call, when, window, errors)) {
      return Optional.empty();
    }
    Optional<Ast.Word> field = Optional.ofNullable(call.field());
    String aggregate = call.aggregate();
    if (aggregate.equals("share") || call.tuples() != null) {
      return readConditions(arguments, call, window);
    }
    if (aggregate.equals("flows")) {
      Ast.Word flow = new Ast.Word(FLOW, FLOW, when.span());
      return operands.different(arguments, Aggregates.named("distinct"), Optional.of(flow), window);
    }
    if (aggregate.equals("distinct")) {
      return operands.different(arguments, Aggregates.named(aggregate), field, window);
    }
    if (aggregate.equals("count") && field.isPresent()) {
      return present(arguments, field.get(), window);
    }
    if (aggregate.equals("count") || aggregate.equals("rate") && field.isEmpty()) {
      ParserInfo parser = Fields.firstHaving(fields.parsers(), arguments.words("group"));
      Processor.Builder result =
          Operands.aggregating(Aggregates.named(aggregate), window).setValue(Values.counted());
      operands.setKey(result, parser, arguments, "group");
      return Optional.of(result);
    }
    Optional<Double> share = Literals.percentile(aggregate);
    List<ParserInfo> owners = withCountable(field.get());
    if (owners.isEmpty()) {
      fields.unknown(field.get());
      return Optional.empty();
    }
    ParserInfo parser = Fields.firstHaving(owners, arguments.words("group"));
    MergeableAggregate effective = Aggregates.named(share.isPresent() ? "percentile" : aggregate);
    Processor.Builder result = Operands.aggregating(effective, window);
    operands.setKey(result, parser, arguments, "group");
    share.ifPresent(result::setShare);
    return operands
        .taken(parser, field.get(), effective)
        .map(taken -> result.setValue(taken.value()));
  }

  private List<ParserInfo> withCountable(Ast.Word field) {
    return fields.parsers().stream()
        .filter(p -> Catalogue.field(p, field.text()).isPresent() || Countable.has(p, field))
        .toList();
  }

  /** Compiles a count of tuples that have a value in the field. */
  private Optional<Processor.Builder> present(Arguments arguments, Ast.Word field, Window window) {
    List<ParserInfo> owners = Fields.having(fields.parsers(), field);
    if (owners.isEmpty()) {
      fields.unknown(field);
      return Optional.empty();
    }
    ParserInfo parser = Fields.firstHaving(owners, arguments.words("group"));
    Processor.Builder result = Operands.aggregating(Aggregates.named("count"), window);
    operands.setKey(result, parser, arguments, "group");
    FieldInfo info = Catalogue.field(parser, field.text()).orElseThrow();
    return Optional.of(result.setValue(Values.of(info).toBuilder().setUnit("count")));
  }

  /**
   * Compiles {@code count(CONDITION)} and {@code share(CONDITION)}: the count or share of tuples
   * that meet the condition.
   */
  private Optional<Processor.Builder> readConditions(
      Arguments arguments, ConditionReader.Call call, Window window) {
    boolean share = call.aggregate().equals("share");
    Optional<ParserInfo> parser = readConditions(arguments, call);
    if (parser.isEmpty()) {
      return Optional.empty();
    }
    Optional<ConditionTree> condition = condition(parser.get(), call);
    if (condition.isEmpty()) {
      return Optional.empty();
    }
    Processor.Builder result =
        Operands.aggregating(Aggregates.named(share ? "avg" : "sum"), window)
            .setValue(
                Values.of(condition.get(), text(call, condition.get()), share ? "" : "count"));
    operands.setKey(result, parser.get(), arguments, "group");
    return Optional.of(result);
  }

  /**
   * Returns a parser with all fields of the condition, if possible also those of the group. Reports
   * an error if there is none.
   */
  private Optional<ParserInfo> readConditions(Arguments arguments, ConditionReader.Call call) {
    List<Ast.Word> words = call.field() != null ? List.of(call.field()) : call.tuples().fields();
    List<ParserInfo> owners =
        fields.parsers().stream()
            .filter(
                p ->
                    Fields.hasAll(p, words)
                        || call.field() != null && Countable.has(p, call.field()))
            .toList();
    if (owners.isEmpty()) {
      fields.noneHasAll(words);
      return Optional.empty();
    }
    return Optional.of(Fields.firstHaving(owners, arguments.words("group")));
  }

  private Optional<ConditionTree> condition(ParserInfo parser, ConditionReader.Call call) {
    if (call.field() == null) {
      return new ConditionTyper(parser, call.tuples(), inventory, errors)
          .typed(call.tuples().tree());
    }
    if (Countable.has(parser, call.field())) {
      return Optional.of(Countable.condition(parser, call.field()));
    }
    String message =
        "%s is neither a Boolean field nor a condition on tuples".formatted(call.field().text());
    errors.type(call.field().span(), message, "for example \"share(status >= 500) > 0.2\"");
    return Optional.empty();
  }

  private static String text(ConditionReader.Call call, ConditionTree condition) {
    return call.field() == null
        ? ConditionPrinter.text(condition)
        : Names.normal(call.field().text());
  }
}
