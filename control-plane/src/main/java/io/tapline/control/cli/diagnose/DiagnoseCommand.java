package io.tapline.control.cli.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.console.Console;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code tapline diagnose}: finds faults from hosts' headers and reported bursts. */
@Command(
    name = "diagnose",
    description =
        "Finds faults in the network, from headers that hosts kept and bursts that queries reported.",
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {
      DiagnoseTrackCommand.class,
      DiagnoseLossCommand.class,
      DiagnosePathCommand.class,
      DiagnoseOutcastCommand.class,
      DiagnoseQueueCommand.class
    })
public final class DiagnoseCommand implements Runnable {
  static final String PATH = "/api/v1/diagnoses";

  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "missing command");
  }

  /** Prints the report's verdict, one sentence per line. */
  static void verdict(Console console, JsonNode report) {
    report.path("verdict").forEach(sentence -> console.line(sentence.asText()));
  }

  /** Prints the nodes that are missing from the report, and a hint if it lacks headers. */
  static void notes(Console console, JsonNode report) {
    report
        .path("missing")
        .properties()
        .forEach(
            node ->
                console.hint("node " + node.getKey() + " is missing: " + node.getValue().asText()));
    if (report.path("incomplete").asBoolean()) {
      console.hint(
          "more headers match than one request reads: narrow the time with --from and --to");
    }
  }
}
