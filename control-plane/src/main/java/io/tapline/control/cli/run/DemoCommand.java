package io.tapline.control.cli.run;

import com.fasterxml.jackson.databind.node.MissingNode;
import io.tapline.compiler.Inventory;
import io.tapline.control.HashKeys;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.options.Captures;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.cli.options.ServiceOptions;
import io.tapline.control.cli.options.Speed;
import io.tapline.control.cli.results.HostNames;
import io.tapline.control.cli.results.ResultTables;
import io.tapline.control.cli.results.WindowPrinter;
import io.tapline.control.query.WindowResult;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.server.PipelineSession;
import io.tapline.control.testbed.ShopFigures;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code tapline demo}: two queries over the bundled capture of a web shop, and the conclusion from
 * their results.
 */
@Command(
    name = "demo",
    description = "Finds a misconfigured server in a bundled capture of a three-tier web shop.",
    footer = {
      "",
      "The capture, its network and the servers' logs are described in testbed/three_tier/README.md."
    })
public final class DemoCommand implements Callable<Integer> {
  static final String REQUESTS =
      "PARSE http_get FROM * TO proxy:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=10, w=10s, s=10s)";
  static final String TIERS =
      "PARSE tcp_conn_time FROM * TO * LIMIT 90s SAMPLE * PROCESS (diff-group: group=(src_ip, dst_ip))";

  static final String SIZES =
      "PARSE tcp_pkt_size FROM * TO * LIMIT 90s SAMPLE * PROCESS (group-sum: group=(src_ip, dst_ip))";

  private final Console console;

  @Option(
      names = "--figures",
      paramLabel = "DIR",
      description =
          "Run a third query, for the bytes between tiers, and write Figures 9 to 11 of NetAlytics (Middleware'16) to this folder, as CSV and SVG.")
  private Path figures;

  @Option(names = "--json", description = "Print result rows as JSON lines, then the finding.")
  private boolean json;

  DemoCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    Instant started = ProcessHandle.current().info().startInstant().orElseGet(Instant::now);
    Installation installation = Installation.current();
    Inventory inventory = Installation.inventory(installation.bundledInventory());
    Path capture = installation.bundledCapture();
    Captures.check(installation, List.of(capture), List.of(), console);
    Source source = Source.files(List.of(capture), Speed.MAX.toString());
    try (PipelineSession session =
        PipelineStart.of(
            console,
            installation,
            inventory,
            new ServiceOptions(),
            HashKeys.KNOWN,
            List.of(REQUESTS, TIERS, SIZES))) {
      List<String> ids = List.of(session.submit(REQUESTS, source), session.submit(TIERS, source));
      introduce(capture);
      show(
          session,
          ids.get(0),
          "The most requested URLs, ten seconds at a time",
          REQUESTS,
          inventory);
      List<WindowResult> tiers =
          show(session, ids.get(1), "Durations of connections between tiers", TIERS, inventory);
      if (figures != null) {
        String sizes = session.submit(SIZES, source);
        write(
            tiers,
            show(session, sizes, "Bytes between tiers", SIZES, inventory),
            HostNames.instead(inventory));
      }
      conclude(tiers, HostNames.instead(inventory));
    }
    if (!json) {
      Duration took = Duration.between(started, Instant.now());
      console.line("Took %.1f s from start to end.".formatted(took.toMillis() / 1e3));
    }
    return 0;
  }

  private void write(List<WindowResult> times, List<WindowResult> bytes, HostNames names) {
    if (times.isEmpty() || bytes.isEmpty()) {
      return; // If the capture is damaged, conclude() reports it.
    }
    Map<String, String> files =
        new ShopFigures(names::of)
            .of(times.get(times.size() - 1).rows(), bytes.get(bytes.size() - 1).rows());
    try {
      Files.createDirectories(figures);
      for (Map.Entry<String, String> file : files.entrySet()) {
        Files.writeString(figures.resolve(file.getKey()), file.getValue());
      }
    } catch (IOException e) {
      throw new CommandException("--figures " + figures + ": " + e, e);
    }
  }

  private void introduce(Path capture) {
    if (!json) {
      console.line(
          "A web shop: client ─▶ proxy ─▶ app1, app2 ─▶ db, cache. Its pages are slow now and then. Why?");
      console.line("Capture: " + capture + "\n");
    }
  }

  private List<WindowResult> show(
      PipelineSession session, String id, String title, String query, Inventory inventory)
      throws Exception {
    ResultTables tables =
        new ResultTables(
            session.queries().plan(id).orElse(MissingNode.getInstance()),
            HostNames.instead(inventory),
            console.columns());
    WindowPrinter printer = new WindowPrinter(console, tables, json);
    List<WindowResult> windows = new ArrayList<>();
    if (!json) {
      console.line(title + "\n  " + query + "\n");
    }
    session.follow(
        id,
        window -> {
          windows.add(window);
          printer.print(window);
        });
    printer.end();
    if (!json) {
      console.line("");
    }
    return windows;
  }

  private void conclude(List<WindowResult> tiers, HostNames names) {
    if (tiers.isEmpty()) {
      throw new CommandException(
          "the bundled capture contains no connection times: it may be damaged (check with git status)");
    }
    TierFinding finding = new TierFinding(tiers.get(tiers.size() - 1).rows(), names);
    if (json) {
      console.json(finding.json());
    } else {
      console.paragraph("Finding: " + finding.sentence());
    }
  }
}
