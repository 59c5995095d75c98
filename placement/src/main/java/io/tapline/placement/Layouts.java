package io.tapline.placement;

import io.tapline.network.Resources;
import java.util.ArrayList;
import java.util.List;

/** Validates layouts against all guarantees of this package. */
public final class Layouts {
  private Layouts() {}

  /** Returns the violations of a layout; empty if it is valid. */
  public static List<String> violations(Problem problem, Layout layout) {
    List<String> wrong = new ArrayList<>();
    monitors(problem, layout, wrong);
    aggregators(problem, layout, wrong);
    processors(problem, layout, wrong);
    hosts(problem, layout, wrong);
    return wrong;
  }

  private static void monitors(Problem problem, Layout layout, List<String> wrong) {
    long[] input = new long[layout.monitors().size()];
    for (int flow = 0; flow < problem.flows().size(); flow++) {
      int monitor = layout.monitorOfFlow()[flow];
      if (monitor < 0 || monitor >= input.length) {
        wrong.add("flow %d has no monitor".formatted(flow));
        continue;
      }
      input[monitor] += problem.flows().rateBps(flow);
      int edge = problem.topology().edgeOf(layout.monitors().get(monitor).host());
      if (edge != problem.fromEdge(flow) && edge != problem.toEdge(flow)) {
        wrong.add("monitor %d does not cover flow %d".formatted(monitor, flow));
      }
    }
    check("monitor", layout.monitors(), input, problem.sizes().monitorBps(), wrong);
  }

  private static void aggregators(Problem problem, Layout layout, List<String> wrong) {
    long[] input = new long[layout.aggregators().size()];
    for (int m = 0; m < layout.monitors().size(); m++) {
      long bps = problem.sizes().extractedBps(layout.monitors().get(m).inputBps());
      input[layout.aggregatorOfMonitor()[m]] += bps;
    }
    check("aggregator", layout.aggregators(), input, problem.sizes().aggregatorBps(), wrong);
  }

  private static void processors(Problem problem, Layout layout, List<String> wrong) {
    long[] output = new long[layout.aggregators().size()];
    long[] input = new long[layout.processors().size()];
    for (Layout.Stream stream : layout.streams()) {
      output[stream.aggregator()] += stream.bps();
      input[stream.processor()] += stream.bps();
    }
    check("processor", layout.processors(), input, problem.sizes().processorBps(), wrong);
    for (int a = 0; a < output.length; a++) {
      if (output[a] != layout.aggregators().get(a).inputBps()) {
        wrong.add(
            "aggregator %d forwards %,d bit/s of its %,d"
                .formatted(a, output[a], layout.aggregators().get(a).inputBps()));
      }
    }
  }

  private static void check(
      String kind,
      List<Layout.Process> processes,
      long[] input,
      long capacity,
      List<String> wrong) {
    for (int i = 0; i < input.length; i++) {
      if (input[i] != processes.get(i).inputBps()) {
        wrong.add(
            "%s %d declares %,d but receives %,d"
                .formatted(kind, i, processes.get(i).inputBps(), input[i]));
      }
      if (input[i] > capacity) {
        wrong.add(
            "%s %d receives %,d bit/s, but takes at most %,d"
                .formatted(kind, i, input[i], capacity));
      }
    }
  }

  private static void hosts(Problem problem, Layout layout, List<String> wrong) {
    HostUse use = new HostUse(problem.topology());
    take(use, layout.monitors(), problem.sizes().monitor(), wrong);
    take(use, layout.aggregators(), problem.sizes().aggregator(), wrong);
    take(use, layout.processors(), problem.sizes().processor(), wrong);
  }

  private static void take(
      HostUse use, List<Layout.Process> processes, Resources need, List<String> wrong) {
    for (Layout.Process process : processes) {
      if (!use.fits(process.host(), need)) {
        wrong.add("host %d has no room".formatted(process.host()));
      }
      use.take(process.host(), need);
    }
  }
}
