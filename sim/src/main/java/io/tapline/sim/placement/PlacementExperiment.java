package io.tapline.sim.placement;

import io.tapline.network.FatTree;
import io.tapline.network.HostMaker;
import io.tapline.network.Topology;
import io.tapline.placement.Cost;
import io.tapline.placement.Flows;
import io.tapline.placement.LowerBound;
import io.tapline.placement.Problem;
import io.tapline.placement.Sizes;
import io.tapline.placement.Strategies;
import io.tapline.placement.Strategy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** Measures how each strategy's cost depends on the number of monitored flows (Figures 7 and 8). */
public final class PlacementExperiment {
  /** Strategies in the order in which tables list them: the paper's three, then ours. */
  public static final Map<String, Strategy> STRATEGIES = strategies();

  /**
   * Name of the lower bound in tables. Processes and weighted traffic are bounded separately:
   * possibly no layout attains both.
   */
  public static final String BOUND = "lower bound";

  /**
   * The parameters.
   *
   * @param flows numbers of monitored flows, ascending
   */
  public record Options(int k, int runs, List<Integer> flows, List<Reading> readings, long seed) {
    public Options {
      flows = List.copyOf(flows);
      readings = List.copyOf(readings);
      if (runs < 1 || flows.isEmpty() || readings.isEmpty()) {
        throw new IllegalArgumentException("an experiment needs runs, flows and an interpretation");
      }
    }
  }

  /** One point of the figures. */
  public record Row(
      Reading reading, int flows, String strategy, Map<Measure, Statistic> measures) {}

  private PlacementExperiment() {}

  private static Map<String, Strategy> strategies() {
    Map<String, Strategy> strategies = new LinkedHashMap<>();
    strategies.put("local-random", Strategies.LOCAL_RANDOM);
    strategies.put("netalytics-node", Strategies.NETALYTICS_NODE);
    strategies.put("netalytics-network", Strategies.NETALYTICS_NETWORK);
    strategies.put("tapline-node", Strategies.TAPLINE_NODE);
    strategies.put("tapline-network", Strategies.TAPLINE_NETWORK);
    return java.util.Collections.unmodifiableMap(strategies);
  }

  /**
   * Runs the experiment. The same options give the same rows.
   *
   * @param progress receives the name of each step before it runs
   */
  public static List<Row> run(Options options, Consumer<String> progress) {
    List<Row> rows = new ArrayList<>();
    for (Reading reading : options.readings()) {
      Map<String, Map<Measure, double[]>> values = new LinkedHashMap<>();
      for (int run = 0; run < options.runs(); run++) {
        progress.accept("%s, run %d of %d".formatted(reading.label, run + 1, options.runs()));
        run(options, reading, run, values);
      }
      for (int flows : options.flows()) {
        STRATEGIES.keySet().forEach(name -> rows.add(row(reading, flows, name, values)));
        rows.add(row(reading, flows, BOUND, values));
      }
    }
    return rows;
  }

  private static Row row(
      Reading reading, int flows, String strategy, Map<String, Map<Measure, double[]>> values) {
    Map<Measure, Statistic> statistics = new EnumMap<>(Measure.class);
    values.get(key(flows, strategy)).forEach((m, v) -> statistics.put(m, Statistic.of(v)));
    return new Row(reading, flows, strategy, statistics);
  }

  private static String key(int flows, String strategy) {
    return flows + " " + strategy;
  }

  private static void run(
      Options options, Reading reading, int run, Map<String, Map<Measure, double[]>> values) {
    SplittableRandom random = new SplittableRandom(options.seed() * 1000 + run);
    Topology topology = FatTree.of(options.k(), HostMaker.ofPaper(random));
    Flows all = Workload.ofPaper(topology, options.k(), reading, random);
    Cost.Workload workload = Cost.workload(topology, all);
    int[] sample = Workload.draw(all, options.flows().get(options.flows().size() - 1), random);
    for (int flows : options.flows()) {
      Flows monitored = all.select(Arrays.copyOf(sample, Math.min(flows, sample.length)));
      Problem problem = new Problem(topology, monitored, Sizes.PAPER);
      Cost cost = null;
      for (Map.Entry<String, Strategy> strategy : STRATEGIES.entrySet()) {
        cost = Cost.of(problem, strategy.getValue().place(problem, random));
        for (Measure measure : Measure.values()) {
          put(
              values,
              key(flows, strategy.getKey()),
              measure,
              options,
              run,
              measure.of(cost, workload));
        }
      }
      double bound = LowerBound.weighted(problem, cost.processes());
      String key = key(flows, BOUND);
      put(values, key, Measure.PROCESSOR_WEIGHTED, options, run, 100 * bound / workload.raw());
      put(values, key, Measure.PROCESSES, options, run, LowerBound.processes(problem));
    }
  }

  private static void put(
      Map<String, Map<Measure, double[]>> values,
      String key,
      Measure measure,
      Options options,
      int run,
      double value) {
    values.computeIfAbsent(key, unused -> new EnumMap<>(Measure.class))
            .computeIfAbsent(measure, unused -> new double[options.runs()])[run] =
        value;
  }

  /** Returns a header, then one line per row; confidence intervals have their own columns. */
  public static String csv(List<Row> rows) {
    StringBuilder csv = new StringBuilder("reading,monitored_flows,strategy,runs");
    for (Measure measure : Measure.values()) {
      csv.append(',').append(measure.label).append(',').append(measure.label).append("_ci95");
    }
    for (Row row : rows) {
      int runs = row.measures().get(Measure.PROCESSES).runs();
      csv.append("\n%s,%d,%s,%d".formatted(row.reading().label, row.flows(), row.strategy(), runs));
      for (Measure measure : Measure.values()) {
        Statistic value = row.measures().get(measure);
        csv.append(value == null ? ",," : ",%.6g,%.3g".formatted(value.mean(), value.halfWidth()));
      }
    }
    return csv.append('\n').toString();
  }

  /** Draws Figure 7 or 8 for one interpretation. */
  public static String plot(List<Row> rows, Reading reading, Measure... measures) {
    boolean processes = measures[0] == Measure.PROCESSES;
    Plot plot =
        new Plot(
            (processes ? "Processes" : "Extra traffic") + " (" + reading.label + ")",
            "monitored flows (thousands)",
            processes ? "processes" : "% of the workload's traffic");
    for (Measure measure : measures) {
      for (String strategy : STRATEGIES.keySet()) {
        List<Plot.Point> points =
            rows.stream()
                .filter(row -> row.reading() == reading && row.strategy().equals(strategy))
                .map(row -> point(row, measure))
                .toList();
        String suffix = measures.length > 1 ? ", " + measure.label.replace("_percent", "") : "";
        plot.line(strategy + suffix, points, measure == Measure.WEIGHTED);
      }
    }
    return plot.svg();
  }

  private static Plot.Point point(Row row, Measure measure) {
    Statistic value = row.measures().get(measure);
    return new Plot.Point(row.flows() / 1000.0, value.mean(), value.halfWidth());
  }
}
