package io.tapline.compiler.catalogue;

import io.tapline.compiler.text.Names;
import java.util.List;
import java.util.Optional;

/**
 * A parser, as {@code parsers.json} describes it.
 *
 * @param mainFields default of key= for top-k; empty if a query must name the fields
 * @param valueField default of by= for sums, averages…
 * @param duration the duration that diff uses, if the parser measures one
 * @param intervalNs interval at which the parser emits tuples; 0 if it emits them on events
 * @param intervalArgument the argument that sets the interval, if queries can choose it
 * @param allTraffic whether its tuples are only correct if it sees all packets
 * @param queues whether it measures queues between taps
 * @param counted whether it emits no tuples, and only triggers in the monitor count its packets
 * @param arguments arguments that it takes in PARSE
 * @param fields columns in order, the common ones first
 */
public record ParserInfo(
    String name,
    String description,
    Layer layer,
    List<String> mainFields,
    Optional<String> valueField,
    Optional<DurationSource> duration,
    long intervalNs,
    Optional<String> intervalArgument,
    boolean allTraffic,
    boolean queues,
    boolean counted,
    List<ParserArgumentInfo> arguments,
    List<FieldInfo> fields) {

  /** The network layer that a parser reads. */
  public enum Layer {
    NETWORK,
    TRANSPORT,
    APPLICATION
  }

  /** The source of a duration. */
  public sealed interface DurationSource {}

  /** A field that contains the duration. */
  public record DurationField(String field) implements DurationSource {}

  /**
   * The time between two tuples of one flow: from one whose event is in {@code start} to one whose
   * event is in {@code end}.
   */
  public record DurationEvents(String eventField, List<String> start, List<String> end)
      implements DurationSource {}

  public ParserInfo {
    mainFields = List.copyOf(mainFields);
    arguments = List.copyOf(arguments);
    fields = List.copyOf(fields);
  }

  /** Returns true if tuples record whether a request was answered. */
  public boolean knowsAnswers() {
    return has("partial", FieldInfo.Type.STRING) && has("unanswered", FieldInfo.Type.BOOL);
  }

  private boolean has(String fieldName, FieldInfo.Type type) {
    return field(fieldName).filter(field -> field.type() == type).isPresent();
  }

  /** Returns a copy of this parser that emits tuples at this interval, in nanoseconds. */
  public ParserInfo emittingEvery(long ns) {
    return new ParserInfo(
        name,
        description,
        layer,
        mainFields,
        valueField,
        duration,
        ns,
        intervalArgument,
        allTraffic,
        queues,
        counted,
        arguments,
        fields);
  }

  /** Returns the argument with this name; ignores case, and treats '-' as '_'. */
  public Optional<ParserArgumentInfo> argument(String written) {
    return arguments.stream().filter(argument -> Names.same(argument.name(), written)).findFirst();
  }

  /** Returns the field with this canonical name. */
  public Optional<FieldInfo> field(String fieldName) {
    return fields.stream().filter(field -> field.name().equals(fieldName)).findFirst();
  }
}
