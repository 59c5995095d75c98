package io.tapline.control.cli.language;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.compiler.CompileResult;
import io.tapline.compiler.Compiler;
import io.tapline.compiler.Explain;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.Placement;
import io.tapline.compiler.access.Rights;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.network.NetworkExplain;
import io.tapline.compiler.network.NetworkPlan;
import io.tapline.compiler.network.TreeDrawing;
import io.tapline.compiler.text.Note;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.cli.options.PluginOptions;
import io.tapline.control.cli.options.QueryText;
import io.tapline.control.query.CopyExplain;
import io.tapline.control.query.QueryRejected;
import io.tapline.network.Network;
import io.tapline.network.rules.TooManyRules;
import io.tapline.placement.PlacementException;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Plan;
import io.tapline.sdn.controller.NetworkMap;
import io.tapline.sdn.mirror.CopyFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline explain}: shows the plan of a query without running it. */
@Command(
    name = "explain",
    description =
        "Shows what a query will do: match, monitors, mirror rules, placement and its cost, job graph; runs nothing.")
public final class ExplainCommand implements Callable<Integer> {
  private static final String QUERY = "explained";

  private final Console console;

  @Parameters(paramLabel = "QUERY", description = QueryText.HELP)
  private String query;

  @Option(
      names = "--inventory",
      paramLabel = "FILE",
      description = "YAML file with the names of hosts and, for placement, their network.")
  private Path inventoryFile;

  @Mixin private PluginOptions plugins;

  @Option(names = "--json", description = "Print the plan as JSON (schema/plan.schema.json).")
  private boolean json;

  @Option(
      names = "--svg",
      paramLabel = "FILE",
      description = "Draw the tree with switches, hosts and processes; needs a network.")
  private Path drawing;

  ExplainCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    String text = QueryText.of(query);
    Inventory inventory = Installation.inventory(inventoryFile);
    Catalogue catalogue = plugins.installation().catalogue();
    Installation.requireTexts(inventory, catalogue);
    Optional<Network> network = Installation.network(inventoryFile, inventory);
    if (drawing != null && network.isEmpty()) {
      throw new UsageException("--svg needs an --inventory with a network");
    }
    Placement placement =
        network
            .<Placement>map(known -> match -> planned(known, match).placed())
            .orElse(Placement.LOCAL);
    CompileResult result =
        Compiler.compile(
            text, catalogue, inventory, new Compiler.Options(QUERY, 1, Rights.ALL, placement));
    Plan plan = result.plan().orElseThrow(() -> new QueryRejected(text, result.errors()));
    if (json) {
      console.json(new ObjectMapper().readTree(Explain.json(plan)));
      placed(network, plan).ifPresent(known -> console.data(placementJson(known, plan) + "\n"));
      result.notes().stream().map(Note::message).forEach(note -> console.hint("note: " + note));
    } else {
      console.print(Explain.render(plan, result.notes()));
      placed(network, plan)
          .ifPresent(
              known -> console.print("\n" + NetworkExplain.text(planned(known, plan.getMatch()))));
      console.print(CopyExplain.text(plan, copies(network)));
    }
    if (drawing != null && plan.getQueuesCount() > 0) {
      throw new UsageException("--svg draws mirroring, and a query with AT has none");
    }
    if (drawing != null) {
      Files.writeString(drawing, TreeDrawing.svg(planned(network.get(), plan.getMatch())));
    }
    return 0;
  }

  /** Returns the network; empty for a query about queues, which reads taps and is not placed. */
  private static Optional<Network> placed(Optional<Network> network, Plan plan) {
    return network.filter(ignored -> plan.getQueuesCount() == 0);
  }

  private Optional<CopyFormat> copies(Optional<Network> network) throws IOException {
    return network.isEmpty()
        ? Optional.empty()
        : Optional.of(NetworkMap.of(network.get(), Files.readString(inventoryFile)).copyFormat());
  }

  private static NetworkPlan planned(Network network, Match match) {
    try {
      return NetworkPlan.of(network, QUERY, match);
    } catch (PlacementException | TooManyRules e) {
      throw new CommandException(e.getMessage(), e);
    }
  }

  private static String placementJson(Network network, Plan plan) {
    return new ObjectMapper()
        .createObjectNode()
        .set("placement", NetworkExplain.json(planned(network, plan.getMatch())))
        .toString();
  }
}
