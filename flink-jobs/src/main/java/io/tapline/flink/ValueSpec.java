package io.tapline.flink;

import io.tapline.schema.proto.Difference;
import io.tapline.schema.proto.FieldCondition;
import io.tapline.schema.proto.Processor;
import java.io.Serializable;
import java.util.List;
import java.util.Set;

/**
 * What a processor takes from a tuple: a field, whether it meets conditions, the time between two
 * events of its flow, or else that it is one.
 *
 * @param field field that is aggregated; empty for the others
 * @param conditions conditions on each tuple, for a value of 1 or 0; empty for the others
 * @param eventField field that marks start and end; empty for the others
 */
public record ValueSpec(
    String field,
    List<FieldCondition> conditions,
    String eventField,
    Set<String> starts,
    Set<String> ends)
    implements Serializable {

  static ValueSpec of(Processor processor) {
    Difference difference = processor.getValue().getDifference();
    return new ValueSpec(
        processor.getValue().getField(),
        conditions(processor),
        difference.getEventField(),
        Set.copyOf(difference.getStartList()),
        Set.copyOf(difference.getEndList()));
  }

  private static List<FieldCondition> conditions(Processor processor) {
    List<FieldCondition> all = processor.getValue().getConditions().getAllList();
    boolean asks = processor.getValue().hasConditions();
    String name = processor.getName();
    ProcessorSpec.check(!asks || !all.isEmpty(), name, "asks nothing of its tuples");
    for (FieldCondition condition : all) {
      ProcessorSpec.check(!condition.getField().isEmpty(), name, "has a condition of no field");
      ProcessorSpec.check(condition.getValuesCount() > 0, name, "has a condition of no value");
    }
    return List.copyOf(all);
  }

  /** Returns true if each tuple counts as one instead of having a value. */
  public boolean countsTuples() {
    return field.isEmpty() && eventField.isEmpty() && conditions.isEmpty();
  }

  public boolean isDifference() {
    return !eventField.isEmpty();
  }
}
