package io.tapline.control.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.compiler.CompileResult;
import io.tapline.compiler.Compiler;
import io.tapline.compiler.Explain;
import io.tapline.compiler.Note;
import io.tapline.control.query.QueryRejected;
import io.tapline.schema.proto.Plan;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline explain}: the plan of a query, without running it. */
@Command(
    name = "explain",
    description =
        "Shows what a query will do: match, monitors, mirror rules, job graph; runs nothing.")
final class ExplainCommand implements Callable<Integer> {
  private final Console console;

  @Parameters(paramLabel = "QUERY", description = QueryText.HELP)
  private String query;

  @Option(
      names = "--inventory",
      paramLabel = "FILE",
      description = "YAML file with the names of hosts.")
  private Path inventoryFile;

  @Mixin private PluginOptions plugins;

  @Option(names = "--json", description = "Print the plan as JSON (schema/plan.schema.json).")
  private boolean json;

  ExplainCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    String text = QueryText.of(query);
    CompileResult result =
        Compiler.compile(
            text,
            plugins.installation().catalogue(),
            Installation.inventory(inventoryFile),
            Compiler.Options.local("explained"));
    Plan plan = result.plan().orElseThrow(() -> new QueryRejected(text, result.errors()));
    if (json) {
      console.line(new ObjectMapper().readTree(Explain.json(plan)).toString());
      result.notes().stream().map(Note::message).forEach(note -> console.hint("note: " + note));
    } else {
      console.print(Explain.render(plan, result.notes()));
    }
    return 0;
  }
}
