package io.tapline.compiler.packets;

import io.tapline.schema.proto.Operand;
import io.tapline.schema.proto.Processor;
import java.util.ArrayList;
import java.util.List;

/** The values that the condition of a trigger on tuples compares. */
public final class TriggerValues {
  private TriggerValues() {}

  /** Returns all values of a processor, its own first. */
  public static List<Operand> operands(Processor processor) {
    List<Operand> operands = new ArrayList<>(List.of(own(processor)));
    operands.addAll(processor.getOperandsList());
    return operands;
  }

  /** Returns a processor's own value. */
  public static Operand own(Processor processor) {
    return Operand.newBuilder()
        .setValue(processor.getValue())
        .setAggregate(processor.getAggregate())
        .setShare(processor.getShare())
        .build();
  }
}
