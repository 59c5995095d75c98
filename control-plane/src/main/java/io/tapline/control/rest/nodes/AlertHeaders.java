package io.tapline.control.rest.nodes;

import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.DrillRequest;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.HeaderFilter;
import io.tapline.control.drill.TapNames;
import io.tapline.control.drill.WatchService.Alert;
import io.tapline.control.drill.WatchSpec;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The headers behind an alert: those of its window and group.
 *
 * @param id ID of the alert
 * @param condition selects the group; blank for all headers
 * @param fromNs beginning of the window, since the epoch
 * @param toNs first nanosecond after the window
 * @param nodes names of the nodes that have the headers; empty for all
 * @param stored name of a filter that these nodes store, which the condition narrows; empty for
 *     none
 */
record AlertHeaders(
    String id, String condition, long fromNs, long toNs, List<String> nodes, String stored) {
  public AlertHeaders {
    nodes = List.copyOf(nodes);
  }

  /** Returns the headers behind an alert of this watch. */
  static AlertHeaders of(Alert alert, WatchSpec watch) {
    if (watch.run().inMonitor()) {
      return ofMonitor(alert, watch);
    }
    List<String> nodes =
        alert.parts().isEmpty() ? List.of(alert.node()) : List.copyOf(alert.parts().keySet());
    return new AlertHeaders(
        alert.id(),
        condition(watch.aggregate().groupBy(), alert.alert().getGroupList()),
        alert.alert().getWindowBeginNs(),
        alert.alert().getWindowEndNs(),
        nodes,
        watch.filterName(alert.watch()));
  }

  /**
   * Returns the headers behind a monitor's alert, in both directions: monitors group packets by
   * client and server.
   */
  private static AlertHeaders ofMonitor(Alert alert, WatchSpec watch) {
    Map<String, String> key = new LinkedHashMap<>();
    for (int i = 0; i < alert.alert().getGroupCount(); i++) {
      String word = watch.aggregate().groupBy().get(i);
      String value = alert.alert().getGroup(i);
      if (value.contains("=")) {
        for (String name : value.split(" ")) {
          key.put(name.split("=")[0], name.split("=")[1]);
        }
      } else {
        key.put(word.split("/")[0], value);
      }
    }
    return new AlertHeaders(
        alert.id(),
        QueryAlert.bothDirections(key),
        alert.alert().getWindowBeginNs(),
        alert.alert().getWindowEndNs(),
        List.of(),
        "");
  }

  /**
   * Returns the condition that selects a group; blank if there are no values, because the watch has
   * no groups or the alert concerns all groups beyond the nodes' limit, which are counted together.
   */
  private static String condition(List<String> fields, List<String> values) {
    List<String> equal = new ArrayList<>();
    for (int i = 0; i < values.size(); i++) {
      String field = fields.get(i);
      String value = values.get(i);
      if (value.isEmpty()) {
        equal.add("not has(%s)".formatted(field));
      } else if (TapNames.contain(field)) {
        equal.add("%s == \"%s\"".formatted(field, TapNames.ofGroup(field, value)));
      } else {
        equal.add("%s == %s".formatted(field, value));
      }
    }
    return String.join(" && ", equal);
  }

  /** Returns the conjunction of the condition and another one, which may be blank. */
  String and(String filter) {
    if (filter.isBlank() || condition.isBlank()) {
      return condition + filter;
    }
    return "(" + condition + ") && (" + filter + ")";
  }

  /**
   * Returns the request for these headers.
   *
   * @param filter condition on headers within the window, including the group's condition
   * @param limit maximum number of rows or packets; 0 for all
   */
  DrillRequest request(HeaderFilter filter, long limit) {
    return new DrillRequest(filter, fromNs, toNs - 1, limit, nodes, stored);
  }

  /**
   * Verifies that nodes still have headers of the alert.
   *
   * @throws DrillException if the nodes have none, or can't be queried
   */
  void require(DrillService drill, HeaderFilter group) throws DrillException {
    DrillService.Headers first = drill.headers(request(group, 1));
    if (first.rows().isEmpty() && first.missing().isEmpty()) {
      throw DrillException.notFound(
          "%s no headers of alert %s, whose window is %s to %s: nodes remove the oldest headers when memory is full"
              .formatted(
                  nodes.isEmpty()
                      ? "the nodes have"
                      : String.join(", ", nodes) + (nodes.size() == 1 ? " has" : " have"),
                  id,
                  time(fromNs),
                  time(toNs)));
    }
  }

  private static Instant time(long ns) {
    return Instant.EPOCH.plusNanos(ns);
  }
}
