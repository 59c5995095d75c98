package io.tapline.control.cli.reference;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.UsageMessageSpec;
import picocli.codegen.docgen.manpage.ManPageGenerator;

/**
 * One command's manual page in AsciiDoc: picocli's page, plus the footer of the command's help and
 * cross-references.
 */
final class ManualPage {
  /** Line width at which nothing is wrapped; the viewer wraps lines. */
  private static final int COLUMNS = 10_000;

  private static final String END = "// end::picocli-generated-full-manpage[]";

  private final StringBuilder out = new StringBuilder();

  private ManualPage() {}

  /**
   * Returns a page. Changes the command's help settings, so the command must not be used for
   * anything else afterwards.
   */
  static String of(CommandSpec command, String version) {
    UsageMessageSpec usage = command.usageMessage();
    List<String> footer = List.of(usage.footer());
    usage.width(COLUMNS).footer(new String[0]);
    command.version(version);
    StringWriter page = new StringWriter();
    ManPageGenerator.writeSingleManPage(new PrintWriter(page), command);
    ManualPage rest = new ManualPage();
    if (command.parent() == null && command.name().equals("tapline")) {
      rest.environment();
    }
    rest.notes(footer);
    rest.more(command);
    return page.toString().replace(END, rest.out + END);
  }

  private void environment() {
    out.append("== Environment\n\n");
    for (Environment variable : Environment.values()) {
      out.append("*").append(variable.name()).append("*::\n  ").append(variable.meaning);
      if (!variable.defaultText.isEmpty()) {
        out.append("; default: ").append(variable.defaultText);
      }
      out.append("\n\n");
    }
  }

  /** Appends notes. Lines that begin with a space are examples, which become literal blocks. */
  private void notes(List<String> lines) {
    if (lines.isEmpty()) {
      return;
    }
    out.append("== Notes\n");
    boolean literal = false;
    for (String line : lines.stream().filter(line -> !line.isBlank()).toList()) {
      boolean example = line.startsWith(" ");
      if (example != literal) {
        out.append(example ? "\n....\n" : "....\n\n");
      }
      literal = example;
      out.append(example ? line.strip() : line).append(example ? "\n" : "\n\n");
    }
    out.append(literal ? "....\n\n" : "");
  }

  private void more(CommandSpec command) {
    out.append("== See also\n\n");
    if (command.parent() != null) {
      out.append("*").append(command.parent().qualifiedName("-")).append("*(1), ");
    } else if (!command.name().equals("tapline")) {
      out.append("*tapline*(1), ");
    }
    out.append("the package tapline-doc\n\n");
  }
}
