package io.tapline.control.cli.run;

import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.control.ChildProcesses;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.Names;
import io.tapline.control.cli.options.CaptureOptions;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.cli.options.MonitorMessages;
import io.tapline.control.cli.options.PluginOptions;
import io.tapline.control.cli.results.TupleTables;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline parse}: runs only the monitor and prints its tuples. */
@Command(
    name = "parse",
    description = "Prints the tuples that parsers find in capture files.",
    footer = {
      "",
      "Examples:",
      "  tapline parse --parser http_get --pcap web.pcap --json",
      "  tapline parse --parser 'link_load(link=10000000000,every=1ms)' --pcap mirror.pcap"
    })
public final class ParseCommand implements Callable<Integer> {
  private static final int CHUNK_BYTES = 1 << 16;

  private final Console console;

  @Option(
      names = "--parser",
      paramLabel = "NAME[,NAME]",
      required = true,
      description =
          "Parsers to run, each as NAME or NAME(ARGUMENT=VALUE,...); tapline parsers lists them.")
  private List<String> parsers;

  @Mixin private CaptureOptions captures;
  @Mixin private PluginOptions plugins;

  @Option(
      names = "--inventory",
      paramLabel = "FILE",
      description = "YAML file with a network, whose ports --tap names.")
  private Path inventoryFile;

  @Option(names = "--json", description = "Print JSON lines instead of a table.")
  private boolean json;

  ParseCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    captures.require();
    captures.resolveTaps(Installation.inventory(inventoryFile));
    Installation installation = plugins.installation();
    Path monitor = installation.requireMonitor();
    List<String> calls = parsers.stream().flatMap(call -> split(call).stream()).toList();
    List<ParserInfo> chosen = chosen(calls, installation.catalogue());
    Process process =
        ChildProcesses.start(
            new ProcessBuilder().redirectError(ProcessBuilder.Redirect.PIPE),
            command(monitor, installation.plugins(), calls, captures));
    MonitorMessages messages = MonitorMessages.read(process.getErrorStream(), console);
    TupleTables tables = new TupleTables(console, chosen);
    try (InputStream tuples = process.getInputStream()) {
      print(tuples, tables);
    } catch (RuntimeException e) {
      ChildProcesses.stop(process);
      throw e;
    }
    int exitCode = process.waitFor();
    messages.requireSuccess(exitCode);
    if (!json) {
      tables.printTotals();
    }
    return 0;
  }

  /** Splits a list at its commas, except those within parentheses, which separate arguments. */
  static List<String> split(String list) {
    List<String> calls = new ArrayList<>();
    int begin = 0;
    boolean inside = false;
    for (int i = 0; i < list.length(); i++) {
      char letter = list.charAt(i);
      inside = letter == '(' || inside && letter != ')';
      if (letter == ',' && !inside) {
        calls.add(list.substring(begin, i));
        begin = i + 1;
      }
    }
    calls.add(list.substring(begin));
    return calls;
  }

  /** Returns the parsers to run; the monitor checks their arguments. */
  private static List<ParserInfo> chosen(List<String> calls, Catalogue catalogue) {
    List<ParserInfo> chosen = new ArrayList<>();
    for (String call : calls) {
      String name = call.replaceFirst("\\(.*", "").strip();
      chosen.add(Names.find(name, "parser", catalogue.parser(name), catalogue.names()));
    }
    return chosen;
  }

  private static List<String> command(
      Path monitor, List<Path> plugins, List<String> calls, CaptureOptions captures) {
    List<String> command = new ArrayList<>(List.of(monitor.toString()));
    command.addAll(List.of("--parser", String.join(",", calls)));
    command.addAll(List.of("--output", "json", "--status", "json"));
    plugins.forEach(plugin -> command.addAll(List.of("--plugin", plugin.toString())));
    captures.files().forEach(file -> command.addAll(List.of("--pcap", file.toString())));
    captures.taps().forEach(tap -> command.addAll(List.of("--tap", tap.text())));
    return command;
  }

  private void print(InputStream tuples, TupleTables tables) throws IOException {
    if (json) {
      byte[] chunk = new byte[CHUNK_BYTES];
      for (int read = tuples.read(chunk); read >= 0; read = tuples.read(chunk)) {
        console.bytes(chunk, read);
      }
      console.flush();
    } else {
      tables.print(new InputStreamReader(tuples, StandardCharsets.UTF_8));
    }
  }
}
