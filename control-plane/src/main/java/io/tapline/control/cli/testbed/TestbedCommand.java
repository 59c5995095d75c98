package io.tapline.control.cli.testbed;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.testbed.Agents;
import io.tapline.control.testbed.FatTreePlan;
import io.tapline.control.testbed.Testbed;
import io.tapline.control.testbed.TestbedException;
import io.tapline.control.testbed.TestbedProcess;
import io.tapline.control.testbed.TestbedState;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code tapline testbed}: a fat tree on this host. */
@Command(
    name = "testbed",
    description =
        "A fat tree of Open vSwitch bridges and namespaces on this host, with a controller. Needs root.",
    synopsisSubcommandLabel = "COMMAND")
public final class TestbedCommand implements Runnable {
  private static final List<TextTable.Column> PROCESS_COLUMNS =
      List.of(
          new TextTable.Column("process", TextTable.Kind.NAME),
          new TextTable.Column("pid", TextTable.Kind.NUMBER),
          new TextTable.Column("restarts", TextTable.Kind.NUMBER));

  @Spec private CommandSpec spec;

  private final Console console;

  TestbedCommand(Console console) {
    this.console = console;
  }

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "missing command");
  }

  private static Testbed testbed(String name) {
    Installation installation = Installation.current();
    return new Testbed(name, installation.home(), installation.programs());
  }

  private static FatTreePlan plan(
      String name, int k, int linkMbit, int queuePackets, boolean memif) {
    try {
      return new FatTreePlan(name, k, linkMbit, queuePackets, memif);
    } catch (IllegalArgumentException e) {
      throw new UsageException(e.getMessage());
    }
  }

  private static FatTreePlan polling(FatTreePlan plan, List<String> switches) {
    try {
      return switches == null ? plan : plan.polling(switches);
    } catch (IllegalArgumentException e) {
      throw new UsageException(e.getMessage());
    }
  }

  private static CommandException failed(TestbedException e) {
    return new CommandException(e.getMessage(), e);
  }

  @Command(
      name = "up",
      description = "Creates the testbed; does nothing if it is up.",
      footer = {"", "A host is a namespace: ip netns exec tl-h-0-0-0 ping 10.3.1.3"})
  int up(
      @Option(
              names = "--k",
              paramLabel = "K",
              defaultValue = "4",
              description = "Size: k pods, k³/4 hosts; even, at most 8. Default: ${DEFAULT-VALUE}.")
          int k,
      @Option(
              names = "--name",
              paramLabel = "NAME",
              defaultValue = "tl",
              description = "Prefix of all its names. Default: ${DEFAULT-VALUE}.")
          String name,
      @Option(
              names = "--openflow-port",
              paramLabel = "PORT",
              defaultValue = "6653",
              description = "Controller port. Default: ${DEFAULT-VALUE}.")
          int port,
      @Option(
              names = "--no-controller",
              description = "Run no controller, for tapline server --openflow-port.")
          boolean isEmpty,
      @Option(
              names = "--link-mbit",
              paramLabel = "N",
              defaultValue = "0",
              description = "Rate of the links between switches; 0: unlimited.")
          int linkMbit,
      @Option(
              names = "--queue-packets",
              paramLabel = "N",
              defaultValue = "0",
              description =
                  "Length of the queue of each port with a rate, in packets; 0: 20 ms of full packets.")
          int queuePackets,
      @Option(
              names = "--mirror-port",
              paramLabel = "KIND",
              defaultValue = "veth",
              converter = MirrorPort.Converter.class,
              description =
                  "How a host receives copies: veth (its interface mirror0) or memif (DPDK shared memory). Default: ${DEFAULT-VALUE}.")
          MirrorPort mirrorPort,
      @Option(
              names = "--poll",
              paramLabel = "SWITCH",
              split = ",",
              description =
                  "Switches whose ports DPDK polls, such as edge-0-0, so that they forward each packet immediately; at most 32 ports.")
          List<String> polled,
      @Mixin TestbedAgentOptions agents) {
    Testbed testbed = testbed(name);
    FatTreePlan tree = plan(name, k, linkMbit, queuePackets, mirrorPort == MirrorPort.MEMIF);
    FatTreePlan plan = agents.withCollector(polling(tree, polled));
    Agents within = agents.in(plan);
    int waiting = within.hosts().size() + (plan.collector() == null ? 0 : 1);
    boolean controller = !isEmpty && waiting == 0;
    try {
      boolean wasMade = testbed.up(plan, port, controller, within);
      console.line((wasMade ? "up: " : "already up: ") + description(plan));
      console.line("hosts reach this host at " + plan.controlAddress());
      console.line("inventory: " + testbed.folder().resolve("inventory.yaml"));
      if (waiting > 0) {
        console.line(
            "%s waiting for a control plane: bin/tapline server --openflow-port %d --inventory %s --agents %s --clear agents,kafka"
                .formatted(
                    waiting == 1 ? "1 agent is" : waiting + " agents are",
                    port,
                    testbed.folder().resolve("inventory.yaml"),
                    within.controlPlanes().get(0)));
      }
    } catch (TestbedException e) {
      throw failed(e);
    }
    return 0;
  }

  private static String description(FatTreePlan plan) {
    return "fat tree, k=%d, %d switches, %d hosts"
        .formatted(plan.k(), plan.switches().size(), plan.hosts().size());
  }

  @Command(name = "down", description = "Removes the testbed; does nothing if there is none.")
  int down(
      @Option(
              names = "--name",
              paramLabel = "NAME",
              defaultValue = "tl",
              description = "Prefix of all its names. Default: ${DEFAULT-VALUE}.")
          String name) {
    plan(name, 2, 0, 0, false);
    try {
      console.line(testbed(name).down() ? "down" : "no testbed");
    } catch (TestbedException e) {
      throw failed(e);
    }
    return 0;
  }

  @Command(name = "status", description = "Shows the testbed. Exit code 1 if it is not up.")
  int status(
      @Option(
              names = "--name",
              paramLabel = "NAME",
              defaultValue = "tl",
              description = "Prefix of all its names. Default: ${DEFAULT-VALUE}.")
          String name,
      @Option(names = "--json", description = "Print JSON.") boolean json) {
    plan(name, 2, 0, 0, false);
    Testbed testbed = testbed(name);
    try {
      Optional<TestbedState> state = testbed.state();
      boolean isUp = state.isPresent() && state.get().complete();
      ObjectNode node = new ObjectMapper().createObjectNode().put("up", isUp);
      node.putPOJO("settings", state.orElse(null)).putPOJO("processes", testbed.processes());
      state.ifPresent(running -> node.put("control_address", running.controlAddress()));
      JsonNode controller = testbed.controllerStatus();
      if (!controller.isMissingNode()) {
        node.set("controller", controller);
      }
      if (json) {
        console.json(node);
      } else if (isUp) {
        print(state.get(), testbed, controller);
      } else {
        console.line(state.isPresent() ? "incomplete: take it down" : "no testbed");
      }
      return isUp ? 0 : 1;
    } catch (TestbedException e) {
      throw failed(e);
    }
  }

  private void print(TestbedState state, Testbed testbed, JsonNode controller) {
    console.line(
        "up: " + description(plan(state.name(), state.k(), state.linkMbit(), 0, state.memif())));
    if (!controller.isMissingNode()) {
      console.line(
          "controller: %d switches, %d links, %d hosts%s"
              .formatted(
                  controller.path("switches").size(),
                  controller.path("links").asInt(),
                  controller.path("hosts").size(),
                  controller.path("settled").asBoolean() ? "" : ", still changing"));
    }
    TextTable table = new TextTable(PROCESS_COLUMNS, console.columns());
    for (TestbedProcess process : testbed.processes()) {
      String pid = process.running() ? Long.toString(process.pid()) : "-";
      table.add(List.of(process.name(), pid, Integer.toString(process.restarts())));
    }
    console.print(table.render(""));
  }
}
