package io.tapline.control.cli.reference;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The settings of a native program, parsed from its {@code --help}.
 *
 * @param synopsis usage, one line per form
 * @param description text before the sections
 * @param sections sections of its help, under their headings
 * @param footer text after the sections
 */
record NativeSettings(
    List<String> synopsis, String description, List<Section> sections, List<String> footer) {
  /** The programs that have such help. */
  static final List<String> PROGRAMS =
      List.of("tapline-monitor", "tapline-agent", "tapline-multilog");

  /** A heading and the flags below it. */
  record Section(String heading, List<Setting> settings) {}

  /**
   * One flag.
   *
   * @param value placeholder of the flag's value, such as FILE; empty for a switch
   * @param defaultText empty if the flag has no default
   */
  record Setting(String flag, String value, String defaultText, String meaning) {
    String type() {
      if (value.isEmpty()) {
        return "switch";
      } else if (value.equals("N")) {
        return "integer";
      } else if (value.equals("RATE")) {
        return "number";
      } else if (value.equals("FILE") || value.equals("DIR")) {
        return "path";
      }
      return value.contains("|") ? "choice" : "text";
    }
  }

  private static final String USAGE = "Usage: ";
  private static final Pattern HEADING = Pattern.compile("(\\w[\\w ]*):");
  private static final Pattern FLAG =
      Pattern.compile("  (--[a-z0-9-]+)(?: (\\S+))? +(.*?)(?: ?\\[([^\\]]*)])?");

  /** Parses the help of a program, which must be built. */
  static NativeSettings of(Path program) throws IOException {
    Process process =
        new ProcessBuilder(program.toString(), "--help")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    return parse(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
  }

  /**
   * Parses a help text. A line that looks like a flag but can't be parsed is an error: no flag may
   * be dropped silently.
   */
  static NativeSettings parse(String help) {
    List<String> synopsis = new ArrayList<>();
    List<String> description = new ArrayList<>();
    List<Section> sections = new ArrayList<>();
    List<String> footer = new ArrayList<>();
    for (String line : help.lines().filter(line -> !line.isBlank()).toList()) {
      Matcher heading = HEADING.matcher(line);
      if (heading.matches()) {
        sections.add(new Section(heading.group(1), new ArrayList<>()));
      } else if (line.startsWith("  --")) {
        sections.get(sections.size() - 1).settings().add(setting(line));
      } else if (sections.isEmpty() && (line.startsWith(USAGE) || line.startsWith(" "))) {
        synopsis.add(line.replace(USAGE, "").strip());
      } else {
        (sections.isEmpty() ? description : footer).add(line.strip());
      }
    }
    return new NativeSettings(synopsis, String.join(" ", description), sections, footer);
  }

  private static Setting setting(String line) {
    Matcher flag = FLAG.matcher(line);
    if (!flag.matches()) {
      throw new IllegalArgumentException("not a flag's line: " + line);
    }
    return new Setting(flag.group(1), text(flag.group(2)), text(flag.group(4)), flag.group(3));
  }

  private static String text(String orNull) {
    return orNull == null ? "" : orNull;
  }
}
