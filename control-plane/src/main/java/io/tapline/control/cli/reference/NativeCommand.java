package io.tapline.control.cli.reference;

import io.tapline.control.cli.reference.NativeSettings.Setting;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** Presents a native program as a picocli command, which picocli's generators can document. */
final class NativeCommand {
  private static final Pattern CHOICES = Pattern.compile("[a-z0-9]+(\\|[a-z0-9]+)+");

  private NativeCommand() {}

  static CommandLine of(String name, NativeSettings settings) {
    CommandSpec command = CommandSpec.create().name(name);
    command
        .usageMessage()
        .customSynopsis(escaped(settings.synopsis()))
        .description(escaped(settings.description()))
        .footer(escaped(settings.footer()))
        .sortOptions(false);
    settings
        .sections()
        .forEach(
            section -> section.settings().forEach(setting -> command.addOption(option(setting))));
    return new CommandLine(command);
  }

  private static OptionSpec option(Setting setting) {
    OptionSpec.Builder option =
        OptionSpec.builder(setting.flag()).description(escaped(description(setting)));
    if (setting.value().isEmpty()) {
      return option.type(boolean.class).build();
    }
    option.paramLabel(setting.value()).arity("1");
    if (CHOICES.matcher(setting.value()).matches()) {
      option.completionCandidates(List.of(setting.value().split("\\|")));
    }
    return option.type(setting.type().equals("path") ? Path.class : String.class).build();
  }

  private static String description(Setting setting) {
    return setting.defaultText().isEmpty()
        ? setting.meaning()
        : setting.meaning() + " [" + setting.defaultText() + "]";
  }

  private static String[] escaped(List<String> lines) {
    return lines.stream().map(NativeCommand::escaped).toArray(String[]::new);
  }

  /** Escapes a string, since picocli treats it as a format. */
  private static String escaped(String text) {
    return text.replace("%", "%%");
  }
}
