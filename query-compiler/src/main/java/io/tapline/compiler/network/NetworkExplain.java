package io.tapline.compiler.network;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.network.LinkLevel;
import io.tapline.network.Rates;
import io.tapline.placement.Layout;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/** Formats a {@link NetworkPlan} as text and as JSON. */
public final class NetworkExplain {
  private NetworkExplain() {}

  /** Returns the plan as multi-line text; every line ends with a line feed. */
  public static String text(NetworkPlan plan) {
    StringBuilder out = new StringBuilder("placement\n");
    line(out, "network", plan.network().topology().kind());
    line(
        out,
        "mirrored at the edge switches of %s".formatted(plan.side()),
        "%d rules in %d switches".formatted(plan.ruleCount(), plan.tables().size()));
    processes(plan, out);
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
    line(out, "expected", expected(plan));
    return out.toString();
  }

  private static void processes(NetworkPlan plan, StringBuilder out) {
    Layout layout = plan.layout();
    Set<Integer> aggregators = new TreeSet<>();
    for (int m = 0; m < layout.monitors().size(); m++) {
      if (plan.ownMonitors().contains(plan.monitorIds().get(m))) {
        aggregators.add(layout.aggregatorOfMonitor()[m]);
        Layout.Process monitor = layout.monitors().get(m);
        int edge = plan.network().topology().edgeOf(monitor.host());
        line(
            out,
            "%s on %s".formatted(plan.monitorIds().get(m), plan.hostName(monitor)),
            "takes %s; on the least loaded host under %s, since the query names hosts there"
                .formatted(rate(monitor.inputBps()), plan.network().topology().edgeName(edge)));
      }
    }
    for (int a : aggregators) {
      Layout.Process aggregator = layout.aggregators().get(a);
      line(
          out,
          "aggregator-%d on %s".formatted(a, plan.hostName(aggregator)),
          "takes %s from %s; where their tuples have the shortest path"
              .formatted(rate(aggregator.inputBps()), writers(plan, a)));
    }
    Set<Integer> processors = new TreeSet<>();
    layout.streams().stream()
        .filter(stream -> aggregators.contains(stream.aggregator()))
        .forEach(stream -> processors.add(stream.processor()));
    for (int p : processors) {
      Layout.Process processor = layout.processors().get(p);
      line(
          out,
          "processor-%d on %s".formatted(p, plan.hostName(processor)),
          "takes %s; on its aggregator's host, or near it".formatted(rate(processor.inputBps())));
    }
    int others =
        layout.processes() - plan.ownMonitors().size() - aggregators.size() - processors.size();
    if (others > 0) {
      line(
          out,
          "other queries",
          "%d more processes; the traffic below includes them".formatted(others));
    }
  }

  private static String expected(NetworkPlan plan) {
    long counted = Arrays.stream(plan.hosts()).filter(plan.network()::isCounted).count();
    String guessed =
        "%s at each named host, until traffic counters are available"
            .formatted(rate(Rates.DEFAULT_BPS));
    if (counted == 0) {
      return guessed;
    }
    int all = plan.hosts().length;
    String known = "last traffic counters, of %d of %d hosts".formatted(counted, all);
    return counted == all
        ? known
        : "%s; %s at each of the others".formatted(known, rate(Rates.DEFAULT_BPS));
  }

  private static void line(StringBuilder out, String label, String text) {
    out.append("  %-36s %s\n".formatted(label, text));
  }

  private static String writers(NetworkPlan plan, int aggregator) {
    StringBuilder names = new StringBuilder();
    for (int m = 0; m < plan.layout().monitors().size(); m++) {
      if (plan.layout().aggregatorOfMonitor()[m] == aggregator) {
        names.append(names.isEmpty() ? "" : ", ").append(plan.monitorIds().get(m));
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

  /** Returns the parts of a network plan that the query plan's JSON lacks. */
  public static ObjectNode json(NetworkPlan plan) {
    ObjectNode node = new ObjectMapper().createObjectNode();
    node.put("network", plan.network().topology().kind());
    node.put("mirrored_at", plan.side().name());
    Layout layout = plan.layout();
    ArrayNode monitors = processes(node.putArray("monitors"), plan, layout.monitors());
    for (int m = 0; m < monitors.size(); m++) {
      String id = plan.monitorIds().get(m);
      ((ObjectNode) monitors.get(m)).put("id", id).put("own", plan.ownMonitors().contains(id));
    }
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

  private static ArrayNode processes(
      ArrayNode array, NetworkPlan plan, List<Layout.Process> processes) {
    for (Layout.Process process : processes) {
      array.addObject().put("host", plan.hostName(process)).put("input_bps", process.inputBps());
    }
    return array;
  }
}
