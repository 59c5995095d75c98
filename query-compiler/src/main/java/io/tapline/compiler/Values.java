package io.tapline.compiler;

import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.Difference;
import io.tapline.schema.proto.Value;

/** Creates the values that processors aggregate. */
final class Values {
  private Values() {}

  /** Returns the count of tuples. */
  static Value counted() {
    return Value.newBuilder().setCount(Value.Count.getDefaultInstance()).setUnit("count").build();
  }

  /** Returns the value of a field, with the field's unit. */
  static Value of(FieldInfo field) {
    return Value.newBuilder().setField(field.name()).setUnit(field.unit()).build();
  }

  /**
   * Returns the count or share of tuples that meet a condition.
   *
   * @param text the condition as text for users
   */
  static Value of(ConditionTree condition, String text, String unit) {
    return Value.newBuilder().setCondition(condition).setConditionText(text).setUnit(unit).build();
  }

  /**
   * Returns the duration of the parser's tuples: a field, or the time from a start event to an end
   * event. REQUIRES: the parser has a duration.
   */
  static Value duration(ParserInfo parser) {
    ParserInfo.DurationSource source = parser.duration().orElseThrow();
    if (source instanceof ParserInfo.DurationField field) {
      return of(parser.field(field.field()).orElseThrow());
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
}
