package io.tapline.compiler;

import io.tapline.compiler.packets.TriggerCondition;
import io.tapline.compiler.packets.TriggerExpression;
import io.tapline.compiler.packets.TriggerExpression.Fault;
import io.tapline.compiler.packets.TriggerExpression.Value;
import io.tapline.compiler.packets.TriggerValues;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.Operand;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Window;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Compiles triggers on tuples whose condition is more than a comparison of one value with a number:
 * {@code share(status >= 500) > 0.05 and count > 100}. Each value becomes an operand; the first one
 * is the processor's own value.
 */
final class GroupExpressions {
  /** Maximum number of values of a trigger, since each of them takes a table of groups. */
  static final int MAX_VALUES = 4;

  private final GroupConditions conditions;
  private final Errors errors;

  GroupExpressions(GroupConditions conditions, Errors errors) {
    this.conditions = conditions;
    this.errors = errors;
  }

  /**
   * Returns true if a trigger has a condition that {@link GroupConditions} can't compile, or one
   * that ends its alerts.
   */
  static boolean isNeeded(Arguments arguments) {
    String when = GroupConditions.when(arguments).text();
    boolean clears =
        arguments
            .word("clear")
            .filter(word -> !TriggerCondition.isThreshold(word))
            .filter(word -> TriggerExpression.isCondition(word.text()))
            .isPresent();
    return clears || TriggerExpression.isCondition(when) && !TriggerExpression.isSimple(when);
  }

  /** Compiles the groups and their condition; empty after an error. REQUIRES: isNeeded(). */
  Optional<Processor.Builder> compile(Arguments arguments, Window window) {
    NamedValues values = new NamedValues(arguments, window);
    return TriggerCondition.read(
            GroupConditions.when(arguments), arguments.word("clear"), values, errors)
        .filter(condition -> values.isAny())
        .map(values::trigger);
  }

  /** The values of one trigger, in the order in which its conditions name them. */
  private final class NamedValues implements TriggerExpression.Functions {
    private final Arguments arguments;
    private final Window window;
    private final Ast.Word when;
    private final List<Processor.Builder> compiled = new ArrayList<>();
    private final List<Operand> known = new ArrayList<>();

    NamedValues(Arguments arguments, Window window) {
      this.arguments = arguments;
      this.window = window;
      this.when = GroupConditions.when(arguments);
    }

    @Override
    public Value value(String name, String argument) throws Fault {
      int errorsBefore = errors.count();
      Processor.Builder builder =
          ConditionReader.call(name, argument, when, errors)
              .flatMap(call -> conditions.aggregated(arguments, call, when, window))
              .filter(result -> errors.count() == errorsBefore)
              .orElseThrow(Fault::reported);
      Processor processor = builder.build();
      requireSameGroups(processor);
      int number = known.indexOf(TriggerValues.own(processor));
      if (number < 0) {
        number = known.size();
        known.add(TriggerValues.own(processor));
        compiled.add(builder);
      }
      if (known.size() > MAX_VALUES) {
        throw new Fault(
            "it has more than %d different values".formatted(MAX_VALUES), "at most " + MAX_VALUES);
      }
      ConditionStep step = ConditionStep.newBuilder().setOperand(number).build();
      return new Value(List.of(step), processor.getValue().getUnit());
    }

    private void requireSameGroups(Processor processor) throws Fault {
      if (processor.hasJoin()) {
        throw new Fault(
            "its groups need fields of another parser, which only one value supports",
            "fields of %s in group=".formatted(processor.getParser()));
      } else if (!compiled.isEmpty()
          && !compiled.get(0).getParser().equals(processor.getParser())) {
        throw new Fault(
            "it compares tuples of %s and of %s"
                .formatted(compiled.get(0).getParser(), processor.getParser()),
            "values of one parser's tuples; count and rate count those of the first parser that has the fields of group=");
      }
    }

    /** Returns true if the conditions name a value; otherwise reports an error. */
    boolean isAny() {
      if (compiled.isEmpty()) {
        errors.type(when.span(), "when: it names no value", "for example \"count > 100\"");
      }
      return !compiled.isEmpty();
    }

    Processor.Builder trigger(TriggerCondition condition) {
      Processor.Builder result = compiled.get(0);
      result.getValueBuilder().setUnit(condition.unit());
      return result
          .addAllOperands(known.subList(1, known.size()))
          .addAllWhen(condition.when())
          .addAllClear(condition.clear());
    }
  }
}
