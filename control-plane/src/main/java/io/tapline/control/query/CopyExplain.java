package io.tapline.control.query;

import io.tapline.schema.proto.Plan;
import io.tapline.sdn.mirror.CopyFormat;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Explains how switches copy traffic for a query that must see all of it. */
public final class CopyExplain {
  private CopyExplain() {}

  /**
   * Returns lines that explain how the query's monitors determine the ports of packets, and which
   * copies have a separate queue; empty if the query does not need all traffic or the format of the
   * copies is unknown.
   */
  public static String text(Plan plan, Optional<CopyFormat> format) {
    return format
        .filter(ignored -> TrafficCollectors.wants(plan))
        .map(
            known ->
                "\ncopies\n  ports: %s\n  SYN, FIN, RST: %s\n"
                    .formatted(ports(known), queue(known)))
        .orElse("");
  }

  private static String ports(CopyFormat format) {
    return format.isMarked()
        ? "from marks that switches write into the copies"
        : "inferred from the controller's routes (copies: unmarked)";
  }

  private static String queue(CopyFormat format) {
    if (!format.isMarked()) {
      return "in the same queue as all other copies, since only marked copies can use a second one";
    } else if (format.separateQueues().isEmpty()) {
      return "in the same queue as all other copies; the inventory's monitor_ports name no second queue";
    }
    Map<String, Integer> sorted = new TreeMap<>(format.separateQueues());
    return sorted.entrySet().stream()
        .map(
            entry ->
                "before other copies to %s, at %d switch%s"
                    .formatted(entry.getKey(), entry.getValue(), entry.getValue() == 1 ? "" : "es"))
        .collect(Collectors.joining("; "));
  }
}
