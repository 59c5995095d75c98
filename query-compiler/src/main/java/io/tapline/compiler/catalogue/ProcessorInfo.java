package io.tapline.compiler.catalogue;

import io.tapline.compiler.text.Names;
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
   * @param defaultText default, in words
   * @param range valid values, in words
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
    /** Fields, networks such as {@code src_ip/24}, and {@code flow}. */
    GROUP("group or (group, …)"),
    CHOICE("choice"),
    CONDITION("condition"),
    TEXT("text");

    /** The name shown to users. */
    public final String text;

    ArgumentType(String text) {
      this.text = text;
    }
  }

  public ProcessorInfo {
    arguments = List.copyOf(arguments);
  }

  /** Returns the argument with this name; ignores case, and treats '-' as '_'. */
  public Optional<ArgumentInfo> argument(String argumentName) {
    return arguments.stream().filter(one -> Names.same(one.name(), argumentName)).findFirst();
  }
}
