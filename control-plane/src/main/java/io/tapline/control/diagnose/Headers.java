package io.tapline.control.diagnose;

import io.tapline.control.drill.DrillAggregate;
import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.DrillRequest;
import io.tapline.control.drill.DrillService;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Queries the nodes for one diagnosis, all at one point in time and over one time span. */
final class Headers {
  /** Filter that selects TCP segments with data. */
  static final String DATA = "protocol == TCP && payload_bytes > 0";

  private final DrillService.View view;
  private final long fromNs;
  private final long toNs;
  private final TreeSet<String> cut = new TreeSet<>();

  /**
   * Creates the queries over a time span.
   *
   * @param toNs 0 for no end
   */
  Headers(DrillService.View view, long fromNs, long toNs) {
    this.view = view;
    this.fromNs = fromNs;
    this.toNs = toNs;
  }

  /** Returns queries at the same point in time, over the part of the span between these times. */
  Headers within(long beginNs, long endNs) {
    return new Headers(view, Math.max(beginNs, fromNs), toNs == 0 ? endNs : Math.min(endNs, toNs));
  }

  DrillService.View view() {
    return view;
  }

  /**
   * Returns true if more headers matched than one request reads: the results are then incomplete.
   */
  boolean isCut() {
    return !cut.isEmpty();
  }

  /**
   * Returns segments in time order.
   *
   * @param stored name of a filter stored on the nodes; empty for none
   */
  List<Segment> segments(String filter, String stored) throws DrillException {
    DrillService.Headers rows =
        view.headers(
            new DrillRequest(filter, fromNs, toNs, DrillRequest.MAX_ROWS, List.of(), stored));
    if (rows.truncated()) {
      cut.add(filter);
    }
    List<Segment> segments = new ArrayList<>();
    rows.rows().forEach(row -> segments.add(Segment.of(row)));
    return segments;
  }

  /** Returns a number for each flow, in descending order. */
  Map<FlowKey, Double> byFlow(String filter, String aggregate) throws DrillException {
    Map<FlowKey, Double> numbers = new LinkedHashMap<>();
    numbers(filter, aggregate, FlowKey.FIELDS)
        .forEach(
            (group, number) -> {
              if (!group.isEmpty()) {
                numbers.put(FlowKey.of(group), number);
              }
            });
    return numbers;
  }

  /**
   * Returns a number for each group, in descending order; the empty group stands for all groups
   * beyond the limit.
   */
  Map<List<String>, Double> numbers(String filter, String aggregate, List<String> groupBy)
      throws DrillException {
    Map<List<String>, Double> numbers = new LinkedHashMap<>();
    DrillRequest request = new DrillRequest(filter, fromNs, toNs, 0, List.of());
    view.numbers(request, DrillAggregate.parse(aggregate, groupBy))
        .groups()
        .forEach(group -> numbers.put(group.getKey(), group.getValue()));
    return numbers;
  }
}
