package io.tapline.compiler;

import io.tapline.aggregates.Aggregates;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.conditions.ConditionPrinter;
import io.tapline.compiler.packets.TriggerValues;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.Operand;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Value;
import java.util.List;
import java.util.Optional;

/** Reads {@code only=}: the condition on tuples that narrows a trigger. */
final class OnlyReader {
  private static final String EXAMPLE = "for example only=\"dst_port in {80, 443}\"";

  private final Fields fields;
  private final Inventory inventory;
  private final Errors errors;

  OnlyReader(Fields fields, Inventory inventory, Errors errors) {
    this.fields = fields;
    this.inventory = inventory;
    this.errors = errors;
  }

  /** Parses the condition and reports syntax errors; resolves no fields. */
  private static Optional<ParsedCondition> parse(Optional<Ast.Word> word, Errors errors) {
    if (word.isEmpty()) {
      return Optional.empty();
    }
    Optional<ParsedCondition> parsed = ParsedCondition.within(word.get(), word.get().text());
    if (parsed.isEmpty()) {
      String message =
          "only= is not a valid condition: %s".formatted(Names.quoted(word.get().text()));
      errors.type(word.get().span(), message, EXAMPLE);
    } else if (parsed.get().size() > WhereReader.MAX_CONDITIONS) {
      String message = "only= has %d conditions".formatted(parsed.get().size());
      String expected = "at most " + WhereReader.MAX_CONDITIONS;
      errors.add(word.get().span(), QueryError.Code.TOO_LARGE, message, expected, "");
      return Optional.empty();
    }
    return parsed;
  }

  /** Checks everything that does not depend on fields, for queries with unknown parsers. */
  static void check(Arguments arguments, Errors errors) {
    parse(arguments.word("only"), errors)
        .ifPresent(only -> WhereReader.checkWithoutFields(only, errors));
  }

  /** Restricts a trigger to the tuples that meet the condition, if there is one. */
  void narrow(Processor.Builder trigger, Arguments arguments) {
    ParserInfo parser =
        fields.parsers().stream()
            .filter(info -> info.name().equals(trigger.getParser()))
            .findFirst()
            .orElseThrow();
    read(arguments.word("only"), parser).ifPresent(typed -> narrow(trigger, typed));
  }

  /** Returns the condition on a parser's tuples; empty if there is none or it is invalid. */
  Optional<ConditionTree> read(Optional<Ast.Word> word, ParserInfo parser) {
    return parse(word, errors).flatMap(only -> typed(only, parser));
  }

  /** Adds the condition to all values of a trigger. */
  private static void narrow(Processor.Builder trigger, ConditionTree conditionTree) {
    Operand own = narrowed(TriggerValues.own(trigger.build()), conditionTree);
    trigger.setAggregate(own.getAggregate()).setValue(own.getValue());
    for (int i = 0; i < trigger.getOperandsCount(); i++) {
      trigger.setOperands(i, narrowed(trigger.getOperands(i), conditionTree));
    }
  }

  /**
   * Adds the condition to a value. A count of tuples becomes a count of the tuples that meet the
   * condition.
   */
  private static Operand narrowed(Operand operand, ConditionTree conditionTree) {
    Operand.Builder result = operand.toBuilder();
    if (operand.getAggregate().isEmpty() && operand.getValue().hasCount()) {
      result
          .setAggregate(Aggregates.planName(Aggregates.named("sum")))
          .setValue(
              Values.of(
                  conditionTree,
                  ConditionPrinter.text(conditionTree),
                  operand.getValue().getUnit()));
    } else {
      result.getValueBuilder().setOnly(conditionTree);
    }
    return result.build();
  }

  private Optional<ConditionTree> typed(ParsedCondition parsedCondition, ParserInfo parser) {
    if (!Fields.hasAll(parser, parsedCondition.fields())) {
      Ast.Word missing =
          parsedCondition.fields().stream()
              .filter(word -> Fields.having(List.of(parser), word).isEmpty())
              .findFirst()
              .orElseThrow();
      String message = "%s has no field %s".formatted(parser.name(), Names.quoted(missing.text()));
      errors.add(
          missing.span(),
          QueryError.Code.UNKNOWN_NAME,
          message,
          "fields of the tuples that are counted",
          "");
      return Optional.empty();
    }
    return new ConditionTyper(parser, parsedCondition, inventory, errors)
        .typed(parsedCondition.tree());
  }

  /**
   * Reports a trigger that the stream job can't narrow: the job narrows only counts of tuples and
   * values of a field.
   */
  static void checkInJob(Processor trigger, Arguments arguments, Errors errors) {
    if (TriggerValues.operands(trigger).stream().anyMatch(OnlyReader::isTooNarrow)) {
      errors.conflict(
          arguments.span("only"),
          "in the stream job, only= applies only to values of a field and counts of tuples",
          "when=\"sum(FIELD) > …\", or count(CONDITION) in when=");
    }
  }

  private static boolean isTooNarrow(Operand operand) {
    Value value = operand.getValue();
    boolean isField = value.hasField() && !operand.getAggregate().equals("DISTINCT");
    return value.getOnly().getNodesCount() > 0 && !isField;
  }
}
