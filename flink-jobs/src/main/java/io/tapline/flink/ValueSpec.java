package io.tapline.flink;

import io.tapline.conditions.Trees;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.Difference;
import io.tapline.schema.proto.FieldCondition;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Value;
import java.io.Serializable;
import java.util.List;
import java.util.Set;

/**
 * The value that a processor takes from a tuple: a field, 1 or 0 for a condition, the time between
 * two events of the tuple's flow, or 1.
 *
 * @param field field that is aggregated; empty for other kinds of values
 * @param asked condition that makes the value 1 or 0; an empty tree for other kinds of values
 * @param only condition that a tuple must meet to have a value; an empty tree if all tuples have a
 *     value
 * @param eventField field that marks the two events; empty for other kinds of values
 */
public record ValueSpec(
    String field,
    ConditionTree asked,
    ConditionTree only,
    String eventField,
    Set<String> starts,
    Set<String> ends)
    implements Serializable {

  static ValueSpec of(Processor processor) {
    Difference difference = processor.getValue().getDifference();
    return new ValueSpec(
        processor.getValue().getField(),
        asked(processor),
        only(processor),
        difference.getEventField(),
        Set.copyOf(difference.getStartList()),
        Set.copyOf(difference.getEndList()));
  }

  private static ConditionTree only(Processor processor) {
    Value value = processor.getValue();
    boolean narrows = value.getOnly().getNodesCount() > 0;
    ProcessorSpec.check(
        !narrows || !value.getField().isEmpty(),
        processor.getName(),
        "has a condition on the values of a field, but no field");
    return value.getOnly();
  }

  private static ConditionTree asked(Processor processor) {
    Value value = processor.getValue();
    List<FieldCondition> earlier = value.getConditions().getAllList();
    String name = processor.getName();
    ProcessorSpec.check(
        earlier.stream().allMatch(processorValue -> processorValue.getValuesCount() > 0),
        name,
        "has a condition without a value");
    ConditionTree condition =
        value.hasConditions()
            ? Trees.and(earlier.stream().map(EarlierConditions::tree).toList())
            : value.getCondition();
    boolean asks = value.hasCondition() || value.hasConditions();
    ProcessorSpec.check(
        !asks || condition.getNodesCount() > 0, name, "has an empty condition on tuples");
    return condition;
  }

  /** Returns true if the value is 1 for tuples that meet a condition, and 0 for others. */
  public boolean asks() {
    return asked.getNodesCount() > 0;
  }

  /** Returns true if only tuples that meet a condition have a value. */
  public boolean narrows() {
    return only.getNodesCount() > 0;
  }

  /** Returns true if tuples are only counted, because they have no other value. */
  public boolean countsTuples() {
    return field.isEmpty() && eventField.isEmpty() && !asks();
  }

  public boolean isDifference() {
    return !eventField.isEmpty();
  }
}
