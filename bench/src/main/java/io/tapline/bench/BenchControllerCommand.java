package io.tapline.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import io.tapline.control.cli.console.UsageException;
import io.tapline.sdn.simulation.ControllerBenchmark;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code tapline bench controller}: installs rules on simulated switches, and compares the time
 * with that of a bare loop that writes the same bytes.
 */
@Command(
    name = "controller",
    description =
        "Installs and reconciles mirror rules on simulated switches, compared with a bare loop that writes the same bytes.")
final class BenchControllerCommand implements Callable<Integer> {
  private final Console console;

  @Option(
      names = "--switches",
      paramLabel = "N",
      defaultValue = "1000",
      description = "Number of switches (default ${DEFAULT-VALUE}).")
  private int switches;

  @Option(
      names = "--rules",
      paramLabel = "N",
      defaultValue = "100",
      description = "Number of rules per switch (default ${DEFAULT-VALUE}).")
  private int rules;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Write controller.json to this folder.")
  private Path folder;

  @Option(names = "--json", description = "Print a JSON line per row.")
  private boolean json;

  BenchControllerCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    if (switches < 1 || rules < 1) {
      throw new UsageException("--switches and --rules must be at least 1");
    }
    ObjectMapper mapper = new ObjectMapper();
    ArrayNode rows = mapper.createArrayNode();
    TextTable table = table(console.columns());
    for (ControllerBenchmark.Row row :
        new ControllerBenchmark(switches, rules).run(console::hint)) {
      ObjectNode node = mapper.valueToTree(row);
      node.put("perSecond", row.perSecond()).put("perCpuSecond", row.perCpuSecond());
      rows.add(node);
      if (json) {
        console.json(node);
      }
      table.add(
          List.of(
              row.phase(),
              format("%,d", row.rules()),
              format("%,d", row.messages()),
              format("%.3f", row.seconds()),
              format("%.3f", row.cpuSeconds()),
              format("%,.0f", row.perSecond()),
              format("%,.0f", row.perCpuSecond())));
    }
    if (!json) {
      console.print(table.render(""));
    }
    if (folder != null) {
      Files.createDirectories(folder);
      Files.writeString(folder.resolve("controller.json"), rows.toPrettyString() + "\n");
    }
    return 0;
  }

  private static TextTable table(int columns) {
    return new TextTable(
        List.of(
            new Column("phase", Kind.NAME),
            new Column("rules", Kind.NUMBER),
            new Column("flow-mods", Kind.NUMBER),
            new Column("seconds", Kind.NUMBER),
            new Column("CPU seconds", Kind.NUMBER),
            new Column("rules/s", Kind.NUMBER),
            new Column("rules/CPU s", Kind.NUMBER)),
        columns);
  }

  private static String format(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
