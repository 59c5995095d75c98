package io.tapline.compiler;

import java.util.List;
import java.util.Optional;

/**
 * What a parser declares about its tuples.
 *
 * @param mainFields what top-k ranks; empty if a query has to say
 * @param valueField default of by= where values are summed, averaged…
 * @param duration what diff takes, if the parser knows durations
 * @param intervalNs how often it emits; 0 if whenever something happens
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
    List<FieldInfo> fields) {

  /** Which layer of the network a parser reads. */
  public enum Layer {
    NETWORK,
    TRANSPORT,
    APPLICATION
  }

  /** Where a duration comes from. */
  public sealed interface DurationSource {}

  /** A field that holds the duration. */
  public record DurationField(String field) implements DurationSource {}

  /**
   * Two tuples of one flow: from one whose event is in {@code start} to one whose is in {@code
   * end}.
   */
  public record DurationEvents(String eventField, List<String> start, List<String> end)
      implements DurationSource {}

  public ParserInfo {
    mainFields = List.copyOf(mainFields);
    fields = List.copyOf(fields);
  }

  /** Whether tuples say if they were answered. */
  public boolean knowsAnswers() {
    return has("partial", FieldInfo.Type.STRING) && has("unanswered", FieldInfo.Type.BOOL);
  }

  private boolean has(String fieldName, FieldInfo.Type type) {
    return field(fieldName).filter(field -> field.type() == type).isPresent();
  }

  /** The field of this canonical name. */
  public Optional<FieldInfo> field(String fieldName) {
    return fields.stream().filter(field -> field.name().equals(fieldName)).findFirst();
  }
}
