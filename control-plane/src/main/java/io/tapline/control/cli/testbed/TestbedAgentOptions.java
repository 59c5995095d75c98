package io.tapline.control.cli.testbed;

import io.tapline.control.cli.console.UsageException;
import io.tapline.control.testbed.Agents;
import io.tapline.control.testbed.Collector;
import io.tapline.control.testbed.FatTreePlan;
import java.util.List;
import picocli.CommandLine.Option;

/** Options for the programs in a testbed's hosts. */
final class TestbedAgentOptions {
  private static final String ALL = "all";
  private static final int PORT = 8481;

  @Option(
      names = "--agents",
      paramLabel = "HOST,…",
      arity = "0..1",
      fallbackValue = ALL,
      split = ",",
      description =
          "Run an agent and a MultiLog node in these hosts, such as h-0-0-1; without a value, in all hosts. The controller is then tapline server --openflow-port.")
  private List<String> hosts = List.of();

  @Option(
      names = "--control-plane",
      paramLabel = "HOST:PORT,…",
      split = ",",
      description =
          "Address at which control planes accept those agents. Default: port 8481 at the address where hosts reach this one.")
  private List<String> controlPlanes = List.of();

  @Option(
      names = "--node-memory-mib",
      paramLabel = "N",
      defaultValue = "64",
      description =
          "Max MiB for the rows of each node; then the oldest are evicted. Default: ${DEFAULT-VALUE}.")
  private int nodeMemoryMib = 64;

  @Option(
      names = "--collector",
      description =
          "Make a namespace that receives copies of every switch's traffic, each at a separate interface, and run an agent in it, named collector. For PARSE link_load and flow_rate; the controller is then tapline server --openflow-port.")
  private boolean collector;

  @Option(
      names = "--mirror-mbit",
      paramLabel = "N",
      defaultValue = "0",
      description =
          "Rate of the switches' ports to the collector; copies beyond it are dropped. 0: unlimited.")
  private int mirrorMbit;

  @Option(
      names = "--mirror-queue-us",
      paramLabel = "N",
      defaultValue = "" + Collector.QUEUE_US,
      description =
          "Length of the queues of those ports, in microseconds of their rate; never shorter than 8 kB. Default: ${DEFAULT-VALUE}.")
  private int mirrorQueueUs = Collector.QUEUE_US;

  /**
   * Returns the plan, with a collector if the user wants one; throws a usage error if the plan
   * can't have it, or if the options for its ports are given without it.
   */
  FatTreePlan withCollector(FatTreePlan plan) {
    if (!collector) {
      if (mirrorMbit != 0 || mirrorQueueUs != Collector.QUEUE_US) {
        throw new UsageException("--mirror-mbit and --mirror-queue-us need --collector");
      }
      return plan;
    }
    try {
      return plan.with(new Collector(mirrorMbit, mirrorQueueUs));
    } catch (IllegalArgumentException e) {
      throw new UsageException(e.getMessage());
    }
  }

  /**
   * Returns the agents to run in a fat tree; throws a usage error if the tree lacks one of their
   * hosts.
   */
  Agents in(FatTreePlan plan) {
    if (hosts.isEmpty() && !collector) {
      return Agents.none();
    }
    boolean all = hosts.equals(List.of(ALL));
    List<String> names = all ? plan.hosts().stream().map(FatTreePlan.Node::id).toList() : hosts;
    List<String> servers =
        controlPlanes.isEmpty() ? List.of(plan.controlAddress() + ":" + PORT) : controlPlanes;
    try {
      return Agents.in(plan, names, servers, nodeMemoryMib);
    } catch (IllegalArgumentException e) {
      throw new UsageException(e.getMessage());
    }
  }
}
