package io.tapline.compiler;

import io.tapline.aggregates.Aggregates;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Names;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Value;
import io.tapline.schema.proto.Window;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Finds the parser, key and value that the arguments of a processor refer to. */
record Operands(Fields fields) {
  private List<ParserInfo> parsers() {
    return fields.parsers();
  }

  private Errors errors() {
    return fields.errors();
  }

  /** Returns a processor without key and value. Plans omit the aggregate's name for counts. */
  static Processor.Builder aggregating(MergeableAggregate aggregate, Window window) {
    String name = Aggregates.planName(aggregate);
    return Processor.newBuilder().setAggregate(name.equals("COUNT") ? "" : name).setWindow(window);
  }

  Optional<Processor.Builder> different(
      Arguments arguments,
      MergeableAggregate aggregate,
      Optional<Ast.Word> operand,
      Window window) {
    List<ParserInfo> owners = operand.map(word -> Fields.having(parsers(), word)).orElse(parsers());
    if (owners.isEmpty()) {
      fields.unknown(operand.orElseThrow());
      return Optional.empty();
    }
    ParserInfo parser = Fields.firstHaving(owners, arguments.words("group"));
    Processor.Builder result = aggregating(aggregate, window);
    setKey(result, parser, arguments, "group");
    if (operand.isEmpty() && mainFields(parser, arguments).isEmpty()) {
      return Optional.empty();
    }
    String field =
        operand
            .map(word -> Catalogue.field(parser, word.text()).orElseThrow().name())
            .orElseGet(() -> parser.mainFields().get(0));
    return Optional.of(
        result.setValue(Value.newBuilder().setField(field).setUnit(aggregate.unit(""))));
  }

  /**
   * Returns a parser with the by= field: one in which the word is {@link Countable}, else one in
   * which it is a number, else any. Of several, prefers the first that has all key fields. Reports
   * an error if there is none.
   */
  Optional<ParserInfo> withBy(
      List<ParserInfo> candidates, Arguments arguments, String keyArgument) {
    Optional<Ast.Word> weight = arguments.word("by");
    List<ParserInfo> owners =
        weight.map(word -> Fields.having(candidates, word)).orElse(candidates);
    List<ParserInfo> counted =
        weight
            .map(word -> candidates.stream().filter(p -> Countable.has(p, word)).toList())
            .orElse(List.of());
    if (!counted.isEmpty()) {
      return Optional.of(Fields.firstHaving(counted, arguments.words(keyArgument)));
    }
    if (owners.isEmpty()) {
      fields.unknown(weight.orElseThrow());
      fields.key(parsers().get(0), arguments.words(keyArgument));
      return Optional.empty();
    }
    List<ParserInfo> numeric =
        weight
            .map(word -> Fields.havingNumber(owners, word))
            .filter(list -> !list.isEmpty())
            .orElse(owners);
    return Optional.of(Fields.firstHaving(numeric, arguments.words(keyArgument)));
  }

  void setKey(Processor.Builder result, ParserInfo parser, Arguments arguments, String argument) {
    Fields.Key key = fields.key(parser, arguments.words(argument));
    result.setParser(parser.name()).addAllKey(key.names());
    key.join().ifPresent(result::setJoin);
  }

  List<String> mainFields(ParserInfo parser, Arguments arguments) {
    if (parser.mainFields().isEmpty()) {
      String names =
          parser.fields().stream().map(FieldInfo::name).collect(Collectors.joining(", "));
      String message = "%s has no main fields, so key= is required".formatted(parser.name());
      errors().conflict(arguments.processor().span(), message, "key= with one of " + names);
    }
    return parser.mainFields();
  }

  /**
   * The value that by= refers to.
   *
   * @param additive whether sums of its values are meaningful
   */
  record ResolvedValue(String name, Value value, boolean additive) {
    static ResolvedValue of(FieldInfo field, MergeableAggregate aggregate) {
      Value value = Values.of(field);
      String unit = aggregate.needsWindow() ? field.unit() : aggregate.unit(field.unit());
      return new ResolvedValue(
          field.name(), value.toBuilder().setUnit(unit).build(), field.additive());
    }
  }

  /**
   * Returns the value of a numeric field or, for a word in {@link Countable}, the count or share of
   * tuples for which it is true.
   */
  Optional<ResolvedValue> taken(ParserInfo parser, Ast.Word word, MergeableAggregate aggregate) {
    if (!Countable.has(parser, word)) {
      return fields.numeric(parser, word).map(field -> ResolvedValue.of(field, aggregate));
    }
    if (!aggregate.takesFlags()) {
      String message = "%s is Boolean, so it has no %s".formatted(word.text(), aggregate.name());
      errors().type(word.span(), message, "sum to count tuples, or avg for their share");
      return Optional.empty();
    }
    String unit = aggregate.name().equals("avg") ? "" : "count";
    Value value = Values.of(Countable.condition(parser, word), Names.normal(word.text()), unit);
    return Optional.of(new ResolvedValue(word.text(), value, true));
  }

  /** Returns the value that by= names, else the parser's value field. */
  Optional<ResolvedValue> value(
      ParserInfo parser, Arguments arguments, MergeableAggregate aggregate, String asking) {
    if (arguments.has("by")) {
      return taken(parser, arguments.word("by").orElseThrow(), aggregate);
    }
    Optional<FieldInfo> field = parser.valueField().flatMap(parser::field);
    if (field.isEmpty()) {
      String message = "%s has no value field, so by= is required".formatted(parser.name());
      errors()
          .conflict(arguments.span(asking), message, "by= one of " + Fields.numericNames(parser));
    }
    return field.map(one -> ResolvedValue.of(one, aggregate));
  }
}
