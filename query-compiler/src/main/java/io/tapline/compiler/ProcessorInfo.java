package io.tapline.compiler;

import java.util.List;
import java.util.Optional;

/**
 * A processor as users see it.
 *
 * @param name canonical spelling
 */
public record ProcessorInfo(String name, String description, List<ArgumentInfo> arguments) {

  /**
   * One argument of a processor.
   *
   * @param defaultText what holds without it, in words
   * @param range which values are right, in words
   */
  public record ArgumentInfo(
      String name, ArgumentType type, String defaultText, String range, String description) {}

  /** Types of arguments. */
  public enum ArgumentType {
    INTEGER("whole number"),
    NUMBER("number"),
    DURATION("duration"),
    FIELD("field"),
    FIELDS("field or (field, …)"),
    CHOICE("choice"),
    CONDITION("condition"),
    TEXT("text");

    /** As users read it. */
    public final String text;

    ArgumentType(String text) {
      this.text = text;
    }
  }

  public ProcessorInfo {
    arguments = List.copyOf(arguments);
  }

  /** The argument of this name, however spelled. */
  public Optional<ArgumentInfo> argument(String argumentName) {
    return arguments.stream().filter(one -> Names.same(one.name(), argumentName)).findFirst();
  }
}
