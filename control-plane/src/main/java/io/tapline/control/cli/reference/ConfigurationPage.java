package io.tapline.control.cli.reference;

import io.tapline.control.cli.reference.NativeSettings.Section;
import io.tapline.control.cli.reference.NativeSettings.Setting;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * Generates docs/reference/configuration.md, which lists every option, from the programs' own
 * option definitions.
 */
public final class ConfigurationPage {
  private static final Pattern FROM_ENVIRONMENT =
      Pattern.compile("\\$\\{env:([A-Z_]+)(?::-(.*))?}");

  private final StringBuilder out = new StringBuilder();

  private ConfigurationPage() {}

  /** Returns the page; {@code programs} is the folder of the native programs. */
  public static String of(CommandLine tapline, Path programs) throws IOException {
    ConfigurationPage page = new ConfigurationPage();
    page.introduction();
    page.environment();
    page.command(tapline.getCommandSpec());
    for (String program : NativeSettings.PROGRAMS) {
      page.nativeProgram(program, NativeSettings.of(programs.resolve(program)));
    }
    return page.out.toString().stripTrailing() + "\n";
  }

  private void introduction() {
    out.append(
        """
        # Configuration

        This page lists every option of every program, with its type, default and meaning. `make reference` generates it from
        the programs, and a test compares it with them. [The command line](cli.md) describes the commands, with examples.

        - A **switch** takes no value. An option marked *several* may be repeated; if it has a separator (`,`), one word may
          contain several values.
        - `DURATION` is a number and a unit: `500ms`, `90s`, `10m`, `2h`.
        - If *Default* is empty, the option is off, or empty.
        - The native programs also read these settings from YAML (`--config FILE`), with `_` for `-` and lists as lists.
          `--dump` prints the effective settings, `--check` checks them.

        """);
  }

  private void environment() {
    out.append("## Environment\n\n");
    out.append("| Variable | Type | Default | Meaning |\n|---|---|---|---|\n");
    for (Environment variable : Environment.values()) {
      row(code(variable.name()), variable.type, variable.defaultText, variable.meaning);
    }
    out.append('\n');
  }

  private void command(CommandSpec command) {
    List<PositionalParamSpec> parameters = command.positionalParameters();
    List<OptionSpec> options =
        command.options().stream()
            .filter(option -> !option.inherited() && !option.hidden())
            .sorted(Comparator.comparing(OptionSpec::longestName))
            .toList();
    if (!parameters.isEmpty() || !options.isEmpty()) {
      out.append("## ").append(command.qualifiedName()).append("\n\n");
      out.append(String.join(" ", command.usageMessage().description())).append("\n\n");
      out.append("| Option | Type | Default | Meaning |\n|---|---|---|---|\n");
      parameters.forEach(parameter -> argument(code(parameter.paramLabel()), parameter));
      options.forEach(option -> argument(names(option), option));
      out.append('\n');
    }
    Collection<CommandLine> subcommands = command.subcommands().values();
    subcommands.stream()
        .map(CommandLine::getCommandSpec)
        .filter(sub -> !sub.usageMessage().hidden())
        .distinct()
        .forEach(this::command);
  }

  private void argument(String name, ArgSpec argument) {
    String type = type(argument);
    if (argument.isMultiValue() && !type.equals("switch")) {
      String separator = argument.splitRegex();
      type += separator.isEmpty() ? ", several" : ", several (`" + separator + "`)";
    }
    if (argument.required() && argument.group() == null) {
      type += ", required";
    }
    row(name, type, defaultOf(argument), meaning(argument));
  }

  private static String names(OptionSpec option) {
    String value = type(option).equals("switch") ? "" : " " + option.paramLabel();
    return code(String.join(", ", option.names()) + value);
  }

  private static String type(ArgSpec argument) {
    Class<?>[] types = argument.auxiliaryTypes();
    Class<?> type = types == null || types.length == 0 ? argument.type() : types[0];
    if (type == boolean.class || type == Boolean.class || type == boolean[].class) {
      return "switch";
    } else if (type == Path.class) {
      return "path";
    } else if (List.<Class<?>>of(int.class, Integer.class, long.class, Long.class).contains(type)) {
      return "integer";
    } else if (type == double.class || type == Double.class) {
      return "number";
    } else if (type.isEnum() || argument.paramLabel().contains("|")) {
      return "choice";
    }
    return "text";
  }

  private static String defaultOf(ArgSpec argument) {
    String text = argument.defaultValueString(false);
    if (text == null || List.of("", "null", "[]").contains(text)) {
      return "";
    }
    Matcher variable = FROM_ENVIRONMENT.matcher(text);
    if (!variable.matches()) {
      return type(argument).equals("switch") && text.equals("false") ? "" : code(text);
    }
    String defaultValue = variable.group(2);
    return code("$" + variable.group(1)) + (defaultValue == null ? "" : ", " + code(defaultValue));
  }

  /** Returns the description of an option without the sentence that repeats the default. */
  private static String meaning(ArgSpec argument) {
    String text = String.join(" ", argument.description());
    for (String initial : List.of("${DEFAULT-VALUE}", plainDefault(argument))) {
      text = text.replace(" Default: " + initial + ".", "");
    }
    return text.replace("${DEFAULT-VALUE}", plainDefault(argument)).replace("%%", "%");
  }

  /** Returns the default that applies if the environment variable is not set. */
  private static String plainDefault(ArgSpec argument) {
    String text = String.valueOf(argument.defaultValueString(false));
    Matcher variable = FROM_ENVIRONMENT.matcher(text);
    return variable.matches() ? String.valueOf(variable.group(2)) : text;
  }

  private void nativeProgram(String name, NativeSettings settings) {
    out.append("## ").append(name).append("\n\n");
    for (Section section : settings.sections()) {
      if (section.settings().isEmpty()) {
        continue;
      }
      out.append(section.heading()).append(":\n\n");
      out.append("| Option | Type | Default | Meaning |\n|---|---|---|---|\n");
      for (Setting setting : section.settings()) {
        String flag = code((setting.flag() + " " + setting.value()).strip());
        String initial = setting.defaultText().isEmpty() ? "" : code(setting.defaultText());
        row(flag, setting.type(), initial, setting.meaning());
      }
      out.append('\n');
    }
  }

  private void row(String name, String type, String initial, String meaning) {
    String cells = String.join(" | ", cell(name), cell(type), cell(initial), cell(meaning));
    out.append("| ").append(cells.replace("|  |", "| |")).append(" |\n");
  }

  private static String cell(String text) {
    return text.replace("|", "\\|").replace("\n", " ");
  }

  private static String code(String text) {
    return "`" + text + "`";
  }
}
