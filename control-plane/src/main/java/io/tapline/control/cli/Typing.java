package io.tapline.control.cli;

import io.tapline.control.cli.console.Names;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Explains the error in a command line and suggests the nearest valid word. */
final class Typing {
  private Typing() {}

  /**
   * Returns the message for an error. An unknown word takes precedence over a missing option, which
   * is often just misspelled.
   */
  static String message(ParameterException e) {
    List<String> unknown = e.getCommandLine().getUnmatchedArguments();
    return unknown.isEmpty()
        ? e.getMessage().replaceFirst("is not an? (int|long|double)$", "is not a number")
        : unknown(unknown.get(0), e.getCommandLine());
  }

  private static String unknown(String argument, CommandLine command) {
    boolean option = argument.startsWith("-");
    String word = option ? argument.replaceFirst("=.*", "") : argument;
    List<String> valid = option ? options(command) : List.copyOf(command.getSubcommands().keySet());
    if (!option && valid.isEmpty()) {
      return "'%s' is one argument too many (quote a query that contains spaces)".formatted(word);
    }
    return "unknown %s '%s'%s"
        .formatted(option ? "option" : "command", word, Names.nearest(word, valid));
  }

  private static List<String> options(CommandLine command) {
    List<String> names = new ArrayList<>();
    command
        .getCommandSpec()
        .options()
        .forEach(one -> names.addAll(Stream.of(one.names()).toList()));
    return names;
  }
}
