package io.tapline.compiler;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.packets.PacketCondition;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.schema.proto.Condition;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Value;
import io.tapline.schema.proto.Window;
import java.util.List;
import java.util.Optional;

/** Compiles triggers on packets, for parsers that emit no tuples. */
final class PacketTriggerReader {
  private final Fields fields;
  private final PacketTriggers packets;
  private final Errors errors;

  PacketTriggerReader(Fields fields, PacketTriggers packets) {
    this.fields = fields;
    this.packets = packets;
    this.errors = fields.errors();
  }

  /** Returns true if {@code when} can be a condition on packets. */
  static boolean isPossible(Arguments arguments) {
    return read(arguments, 1, new Errors()).isPresent();
  }

  /**
   * Returns the parser whose packets the trigger counts; empty if the trigger aggregates tuples. If
   * its condition is valid for both, it counts packets.
   */
  Optional<ParserInfo> parser(Arguments arguments) {
    List<ParserInfo> parsers = fields.parsers();
    return parsers.stream()
        .filter(ParserInfo::counted)
        .filter(parser -> parsers.size() == 1 || isPossible(arguments))
        .findFirst();
  }

  /** Returns the trigger without its condition. */
  Processor.Builder compile(ParserInfo parser, Arguments arguments, Window window) {
    Processor.Builder result =
        Processor.newBuilder().setWindow(window).setValue(Value.newBuilder().setField("value"));
    new Operands(fields).setKey(result, parser, arguments, "group");
    return result.setCondition(Condition.getDefaultInstance());
  }

  /** Adds the condition, or reports why the monitor can't test it. */
  void complete(Processor.Builder trigger, Arguments arguments, int number) {
    if (!trigger.hasTrigger()) {
      errors.conflict(
          arguments.processor().span(),
          "%s emits no tuples: only triggers count its packets".formatted(trigger.getParser()),
          "trigger, or another parser such as ip_flow");
      return;
    }
    Optional<String> obstacle = packets.obstacleToCounting(trigger.build());
    if (obstacle.isPresent()) {
      errors.conflict(
          arguments.processor().span(),
          "the monitor can't test this trigger on packets: " + obstacle.get(),
          "group= of addresses and ports, w= a multiple of every=, SAMPLE *");
      return;
    }
    long windowNs = Durations.toNanos(trigger.getWindow().getSize());
    read(arguments, windowNs, errors)
        .filter(condition -> isTestable(condition, trigger, arguments))
        .ifPresent(
            condition -> {
              trigger.getValueBuilder().setUnit(condition.unit());
              packets.add(number, condition);
            });
  }

  private static Optional<PacketCondition> read(Arguments arguments, long windowNs, Errors errors) {
    Ast.Word when = GroupConditions.when(arguments);
    return PacketCondition.read(when, arguments.word("clear"), windowNs, errors);
  }

  private boolean isTestable(
      PacketCondition condition, Processor.Builder trigger, Arguments arguments) {
    Optional<String> unsummed =
        PacketTriggers.overlaps(trigger.getWindow()) ? condition.unsummed() : Optional.empty();
    if (unsummed.isPresent()) {
      errors.conflict(
          arguments.span("when"),
          unsummed.get() + " can't be used with overlapping windows",
          "w= as long as every=, or another value");
      return false;
    }
    return true;
  }
}
