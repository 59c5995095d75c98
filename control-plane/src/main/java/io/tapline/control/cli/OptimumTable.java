package io.tapline.control.cli;

import io.tapline.sim.placement.OptimumExperiment;
import io.tapline.sim.placement.OptimumExperiment.Given;
import io.tapline.sim.placement.OptimumExperiment.Instance;
import io.tapline.sim.placement.PlacementExperiment;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** How far strategies are from the optimum, over many instances. */
final class OptimumTable {
  private static final String NETWORK = "netalytics-network";

  private OptimumTable() {}

  /** A summary for people. */
  static String of(List<Instance> instances) {
    List<Instance> proven = instances.stream().filter(i -> i.optimum().isPresent()).toList();
    TextTable table =
        TextTable.ofText(
            "strategy",
            "traffic / optimum",
            "median gap %",
            "largest gap %",
            "at optimum",
            "processes",
            "fewer than netalytics-network",
            "as many");
    for (String strategy : PlacementExperiment.STRATEGIES.keySet()) {
      table.add(row(strategy, proven));
    }
    long impossible = proven.stream().filter(i -> !i.fewerPossible()).count();
    return "%s\n%d instances, %d with a proven optimum; in %d of them no layout has fewer processes than %s and no more traffic\n"
        .formatted(
            table.render("").stripTrailing(), instances.size(), proven.size(), impossible, NETWORK);
  }

  private static List<String> row(String strategy, List<Instance> instances) {
    double[] gaps =
        instances.stream()
            .mapToDouble(
                i -> OptimumExperiment.gapPercent(i.given().get(strategy), i.optimum().get()))
            .sorted()
            .toArray();
    double traffic = instances.stream().mapToDouble(i -> i.given().get(strategy).weighted()).sum();
    double optimum = instances.stream().mapToDouble(i -> i.optimum().get()).sum();
    double processes =
        instances.stream().mapToInt(i -> i.given().get(strategy).processes()).average().orElse(0);
    long fewer = instances.stream().filter(i -> difference(i, strategy) < 0).count();
    long same = instances.stream().filter(i -> difference(i, strategy) == 0).count();
    return List.of(
        strategy,
        format("%.3f", traffic / optimum),
        gaps.length == 0 ? "" : format("%.1f", gaps[gaps.length / 2]),
        gaps.length == 0 ? "" : format("%.1f", gaps[gaps.length - 1]),
        String.valueOf(Arrays.stream(gaps).filter(gap -> gap <= 1e-9).count()),
        format("%.2f", processes),
        String.valueOf(fewer),
        String.valueOf(same));
  }

  private static int difference(Instance instance, String strategy) {
    return instance.given().get(strategy).processes() - instance.given().get(NETWORK).processes();
  }

  private static String format(String format, double value) {
    return String.format(Locale.ROOT, format, value);
  }

  /** One line for each instance and strategy. */
  static String csv(List<Instance> instances) {
    StringBuilder csv =
        new StringBuilder(
            "instance,most_processes,optimum_weighted_bps,strategy,processes,weighted_bps\n");
    for (Instance instance : instances) {
      for (var each : instance.given().entrySet()) {
        Given given = each.getValue();
        String optimum = instance.optimum().map(String::valueOf).orElse("");
        csv.append(
            "%d,%d,%s,%s,%d,%d\n"
                .formatted(
                    instance.number(),
                    instance.budget(),
                    optimum,
                    each.getKey(),
                    given.processes(),
                    given.weighted()));
      }
    }
    return csv.toString();
  }
}
