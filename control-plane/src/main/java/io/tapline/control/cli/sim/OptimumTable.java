package io.tapline.control.cli.sim;

import io.tapline.control.cli.console.TextTable;
import io.tapline.sim.placement.OptimumExperiment.Instance;
import io.tapline.sim.placement.OptimumExperiment.PlacedLayout;
import io.tapline.sim.placement.PlacementExperiment;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** The gap between strategies and the optimum, over many instances. */
final class OptimumTable {
  private static final String NETWORK = "netalytics-network";
  private static final String OURS = "tapline-network";
  private static final double MEGA = 1e6;

  private OptimumTable() {}

  /** Returns the progress line of one instance. */
  static String line(Instance instance, int count) {
    PlacedLayout ownPlaced = instance.placements().get(OURS);
    return "instance %d of %d: %d flows, %s %.1f with at most %d processes; %s %.1f with %d"
        .formatted(
            instance.number() + 1,
            count,
            instance.flows(),
            instance.proven() ? "optimum" : "time ran out, at least",
            instance.bound() / MEGA,
            instance.budget(),
            OURS,
            ownPlaced.weighted() / MEGA,
            ownPlaced.processes());
  }

  /** Returns a table that summarizes the instances. */
  static String of(List<Instance> instances) {
    TextTable table =
        TextTable.ofText(
            "strategy",
            "traffic / optimum",
            "mean gap %",
            "p95",
            "largest",
            "at optimum",
            "processes",
            "fewer than netalytics-network",
            "as many");
    for (String strategy : PlacementExperiment.STRATEGIES.keySet()) {
      table.add(row(strategy, instances));
    }
    long proven = instances.stream().filter(Instance::proven).count();
    long impossible = instances.stream().filter(i -> !i.fewerPossible()).count();
    long free = instances.stream().filter(i -> i.bound() == 0).count();
    return """
        %s
        %d instances, %d with a proven optimum, the others with a lower bound; in %d of all instances, no layout has both fewer processes than %s and at most its traffic
        mean gap over the %d instances whose optimum is above zero
        """
        .formatted(
            table.render("").stripTrailing(),
            instances.size(),
            proven,
            impossible,
            NETWORK,
            instances.size() - free);
  }

  private static List<String> row(String strategy, List<Instance> instances) {
    double[] gaps = instances.stream().mapToDouble(i -> i.gapPercent(strategy)).sorted().toArray();
    double mean =
        instances.stream()
            .filter(i -> i.bound() > 0)
            .mapToDouble(i -> i.gapPercent(strategy))
            .average()
            .orElse(0);
    double traffic =
        instances.stream().mapToDouble(i -> i.placements().get(strategy).weighted()).sum();
    double optimum = instances.stream().mapToDouble(Instance::bound).sum();
    double processes =
        instances.stream()
            .mapToInt(i -> i.placements().get(strategy).processes())
            .average()
            .orElse(0);
    long fewer = instances.stream().filter(i -> i.moreProcesses(strategy) < 0).count();
    long same = instances.stream().filter(i -> i.moreProcesses(strategy) == 0).count();
    return List.of(
        strategy,
        format("%.3f", traffic / optimum),
        format("%.1f", mean),
        percent(gaps[(int) Math.ceil(0.95 * gaps.length) - 1]),
        percent(gaps[gaps.length - 1]),
        String.valueOf(Arrays.stream(gaps).filter(gap -> gap <= 1e-9).count()),
        format("%.2f", processes),
        String.valueOf(fewer),
        String.valueOf(same));
  }

  private static String percent(double gap) {
    return Double.isInfinite(gap) ? "∞" : format("%.1f", gap);
  }

  private static String format(String format, double value) {
    return String.format(Locale.ROOT, format, value);
  }

  /** Returns one line for each instance and strategy. */
  static String csv(List<Instance> instances) {
    StringBuilder csv =
        new StringBuilder(
            "instance,flows,most_processes,bound_weighted_bps,proven,strategy,processes,weighted_bps\n");
    for (Instance instance : instances) {
      for (var placement : instance.placements().entrySet()) {
        PlacedLayout placements = placement.getValue();
        csv.append(
            "%d,%d,%d,%d,%b,%s,%d,%d\n"
                .formatted(
                    instance.number(),
                    instance.flows(),
                    instance.budget(),
                    instance.bound(),
                    instance.proven(),
                    placement.getKey(),
                    placements.processes(),
                    placements.weighted()));
      }
    }
    return csv.toString();
  }
}
