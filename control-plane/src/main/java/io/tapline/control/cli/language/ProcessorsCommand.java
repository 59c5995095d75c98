package io.tapline.control.cli.language;

import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.compiler.catalogue.ProcessorInfo;
import io.tapline.compiler.catalogue.ProcessorText;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.Names;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * {@code tapline processors}: lists the processors that PROCESS accepts, with arguments, types and
 * defaults.
 */
@Command(
    name = "processors",
    description =
        "Lists the processors, or shows the arguments of one: types, defaults and ranges.")
public final class ProcessorsCommand implements Callable<Integer> {
  private final Console console;

  @Parameters(paramLabel = "NAME", arity = "0..1", description = "Show this processor.")
  private String name;

  @Option(names = "--json", description = "Print JSON.")
  private boolean json;

  ProcessorsCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    if (name == null) {
      console.print(json ? ended(ProcessorText.json()) : ended(ProcessorText.table()));
      return 0;
    }
    List<String> names = ProcessorCatalogue.all().stream().map(ProcessorInfo::name).toList();
    ProcessorInfo processor = Names.find(name, "processor", ProcessorCatalogue.find(name), names);
    console.print(
        json ? ended(ProcessorText.json(processor)) : ended(ProcessorText.describe(processor)));
    return 0;
  }

  private static String ended(String text) {
    return text.endsWith("\n") ? text : text + "\n";
  }
}
