package io.tapline.compiler.network;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.placement.Layout;
import io.tapline.placement.LinkLevel;
import java.util.List;
import java.util.Locale;

/** A {@link NetworkPlan} for people, for programs, and as a drawing. */
public final class NetworkExplain {
  private NetworkExplain() {}

  /** Several lines, each ended by a line feed. */
  public static String text(NetworkPlan plan) {
    StringBuilder out = new StringBuilder("placement\n");
    line(out, "network", plan.network().topology().kind());
    line(
        out,
        "mirrored at the edge switches of %s".formatted(plan.side()),
        "%d rules in %d switches".formatted(plan.ruleCount(), plan.tables().size()));
    Layout layout = plan.layout();
    for (int m = 0; m < layout.monitors().size(); m++) {
      Layout.Process monitor = layout.monitors().get(m);
      String edge =
          plan.network().topology().edgeName(plan.network().topology().edgeOf(monitor.host()));
      line(
          out,
          "%s on %s".formatted(NetworkPlan.id(m), plan.hostName(monitor)),
          "takes %s; under %s, whose hosts the query names; its least loaded host"
              .formatted(rate(monitor.inputBps()), edge));
    }
    for (int a = 0; a < layout.aggregators().size(); a++) {
      Layout.Process aggregator = layout.aggregators().get(a);
      line(
          out,
          "aggregator-%d on %s".formatted(a, plan.hostName(aggregator)),
          "takes %s of %s; where their tuples have the shortest way"
              .formatted(rate(aggregator.inputBps()), writers(plan, a)));
    }
    for (int p = 0; p < layout.processors().size(); p++) {
      Layout.Process processor = layout.processors().get(p);
      line(
          out,
          "processor-%d on %s".formatted(p, plan.hostName(processor)),
          "takes %s; beside its aggregator, or next to it".formatted(rate(processor.inputBps())));
    }
    for (LinkLevel level : LinkLevel.values()) {
      long extra = plan.cost().levelBps().get(level);
      long capacity = plan.network().topology().capacityBps(level);
      line(
          out,
          "extra traffic, %s links".formatted(level.name().toLowerCase(Locale.ROOT)),
          capacity == 0
              ? "no such links"
              : "%s over all hops, %.4f %% of their capacity"
                  .formatted(rate(extra), 100.0 * extra / capacity));
    }
    line(
        out,
        "expected",
        "%s at each host that is named, while no counters say better"
            .formatted(rate(NetworkPlan.DEFAULT_BPS)));
    return out.toString();
  }

  private static void line(StringBuilder out, String label, String text) {
    out.append("  %-36s %s\n".formatted(label, text));
  }

  private static String writers(NetworkPlan plan, int aggregator) {
    StringBuilder names = new StringBuilder();
    for (int m = 0; m < plan.layout().monitors().size(); m++) {
      if (plan.layout().aggregatorOfMonitor()[m] == aggregator) {
        names.append(names.isEmpty() ? "" : ", ").append(NetworkPlan.id(m));
      }
    }
    return names.toString();
  }

  private static String rate(long bps) {
    double value = bps;
    for (String unit : List.of("bit/s", "kbit/s", "Mbit/s")) {
      if (value < 1000) {
        return String.format(Locale.ROOT, "%.4g %s", value, unit).replace(".000 ", " ");
      }
      value /= 1000;
    }
    return String.format(Locale.ROOT, "%.4g Gbit/s", value);
  }

  /** What the plan's own JSON does not say. */
  public static ObjectNode json(NetworkPlan plan) {
    ObjectNode node = new ObjectMapper().createObjectNode();
    node.put("network", plan.network().topology().kind());
    node.put("mirrored_at", plan.side().name());
    Layout layout = plan.layout();
    processes(node.putArray("monitors"), plan, layout.monitors());
    processes(node.putArray("aggregators"), plan, layout.aggregators());
    processes(node.putArray("processors"), plan, layout.processors());
    ObjectNode rules = node.putObject("rules");
    plan.tables().forEach((id, table) -> rules.put(id, table.rules().size()));
    ObjectNode extra = node.putObject("extra_bps");
    for (LinkLevel level : LinkLevel.values()) {
      extra.put(level.name().toLowerCase(Locale.ROOT), plan.cost().levelBps().get(level));
    }
    node.put("weighted_bps", plan.cost().processorWeighted());
    return node;
  }

  private static void processes(ArrayNode array, NetworkPlan plan, List<Layout.Process> processes) {
    for (Layout.Process process : processes) {
      array.addObject().put("host", plan.hostName(process)).put("input_bps", process.inputBps());
    }
  }
}
