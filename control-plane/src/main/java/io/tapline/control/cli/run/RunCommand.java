package io.tapline.control.cli.run;

import com.fasterxml.jackson.databind.node.MissingNode;
import io.tapline.compiler.Inventory;
import io.tapline.control.HashKeys;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.Timings;
import io.tapline.control.cli.options.CaptureOptions;
import io.tapline.control.cli.options.Captures;
import io.tapline.control.cli.options.ClearOptions;
import io.tapline.control.cli.options.HashKeyOptions;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.cli.options.PluginOptions;
import io.tapline.control.cli.options.QueryText;
import io.tapline.control.cli.options.ServiceOptions;
import io.tapline.control.cli.options.Speed;
import io.tapline.control.cli.options.TlsOptions;
import io.tapline.control.cli.results.HostNames;
import io.tapline.control.cli.results.ResultTables;
import io.tapline.control.cli.results.WindowPrinter;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.server.PipelineSession;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline run}: runs one query over captures, in a private pipeline. */
@Command(
    name = "run",
    description = "Runs a query over capture files and prints its results.",
    footer = {
      "",
      "Starts Kafka, Flink and Redis for this user only, and stops them at the end.",
      "",
      "Example:",
      "  tapline run \"PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=10, w=10s)\" --pcap web.pcap"
    })
public final class RunCommand implements Callable<Integer> {
  private final Console console;

  @Parameters(paramLabel = "QUERY", description = QueryText.HELP)
  private String query;

  @Mixin private CaptureOptions captures;
  @Mixin private ServiceOptions services;
  @Mixin private TlsOptions tls;
  @Mixin private ClearOptions clear;
  @Mixin private PluginOptions plugins;
  @Mixin private HashKeyOptions hashKey;

  @Option(
      names = "--speed",
      paramLabel = "max|1x",
      converter = Speed.Converter.class,
      defaultValue = "max",
      description = "Read as fast as possible, or as fast as captured. Default: ${DEFAULT-VALUE}.")
  private Speed speed;

  @Option(
      names = "--inventory",
      paramLabel = "FILE",
      description = "YAML file with the names of hosts.")
  private Path inventoryFile;

  @Option(names = "--json", description = "Print result rows as JSON lines instead of tables.")
  private boolean json;

  @Option(
      names = "--timings",
      description =
          "Print the start and end of each phase, and the processor time of all threads in it.")
  private boolean timings;

  RunCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    if (!timings) {
      run();
      return 0;
    }
    Timings measuredTimings = Timings.ofProcess("Java and the command line");
    console.progress().measure(measuredTimings);
    try {
      run();
    } finally {
      console.flush();
      console.hint("\n" + measuredTimings.table().stripTrailing());
    }
    return 0;
  }

  private void run() throws Exception {
    captures.require();
    String text = QueryText.of(query);
    tls.check(Set.of(TlsOptions.Service.KAFKA, TlsOptions.Service.REDIS, TlsOptions.Service.FLINK));
    services.speakTls(tls);
    services.check(clear);
    clear.warn(console);
    Inventory inventory = Installation.inventory(inventoryFile);
    captures.resolveTaps(inventory);
    Installation installation = plugins.installation();
    Captures.check(installation, captures.files(), captures.taps(), console);
    Source source = Source.taps(captures.files(), captures.taps(), speed.toString());
    try (PipelineSession session =
        PipelineStart.of(
            console,
            installation,
            inventory,
            services,
            // The same capture gives the same results, unless the user gives a secret key.
            hashKey.read(console).orElse(HashKeys.KNOWN),
            List.of(text))) {
      String id = session.submit(text, source);
      WindowPrinter printer =
          new WindowPrinter(
              console,
              new ResultTables(
                  session.queries().plan(id).orElse(MissingNode.getInstance()),
                  HostNames.withInventory(inventory),
                  console.columns()),
              json);
      session.follow(id, printer::print);
      printer.end();
      // The results are complete; only the services have yet to end.
      console.flush();
    }
  }
}
