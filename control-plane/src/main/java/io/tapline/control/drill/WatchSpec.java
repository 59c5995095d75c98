package io.tapline.control.drill;

import io.tapline.control.drill.DrillException.Kind;
import io.tapline.schema.rpc.AggregateFunction;
import io.tapline.schema.rpc.Definition;
import io.tapline.schema.rpc.RemoveRequest;
import java.util.ArrayList;
import java.util.List;

/**
 * What nodes keep up to date, and tell of: Confluo's control programs.
 *
 * @param filter which headers; empty for all
 * @param aggregate over them
 * @param when condition on the aggregate that alerts ("SUM > 1MB"); empty for none
 * @param windowNs of event time that the aggregate is over, for the condition
 * @param everyNs how often the condition is looked at
 * @param severity info, warning or critical
 * @param nodes names of the hosts; empty for all
 */
public record WatchSpec(
    String filter,
    DrillAggregate aggregate,
    String when,
    long windowNs,
    long everyNs,
    String severity,
    List<String> nodes) {
  private static final long LEAST_BUCKET_NS = 1_000_000;

  /** Steps in which a window slides. */
  private static final long BUCKETS = 10;

  /** A year. */
  private static final long MOST_NS = 365L * 24 * 3600 * 1_000_000_000;

  /** {@link #check} tells whether it makes sense. */
  public WatchSpec {
    nodes = List.copyOf(nodes);
  }

  /**
   * Checks what needs no node.
   *
   * @throws DrillException if something makes no sense
   */
  public void check() throws DrillException {
    requireTime("window", windowNs);
    requireTime("every", everyNs);
    if (!List.of("info", "warning", "critical").contains(severity)) {
      throw new DrillException(
          Kind.INVALID, "severity '" + severity + "' is none of info, warning, critical");
    }
  }

  private static void requireTime(String name, long ns) throws DrillException {
    if (ns < LEAST_BUCKET_NS || ns > MOST_NS) {
      throw new DrillException(Kind.INVALID, name + " is 1 ms to a year");
    }
  }

  /** What a node is told, in order. */
  List<Definition> definitions(String name) {
    List<Definition> definitions = new ArrayList<>();
    String filterName = filter.isBlank() ? "" : name + "_filter";
    if (!filterName.isEmpty()) {
      definitions.add(
          Definition.newBuilder()
              .setFilter(Definition.Filter.newBuilder().setName(filterName).setExpression(filter))
              .build());
    }
    AggregateFunction function =
        AggregateFunction.newBuilder()
            .setFunction(aggregate.function())
            .setField(aggregate.field())
            .addAllGroupBy(aggregate.groupBy())
            .build();
    definitions.add(
        Definition.newBuilder()
            .setAggregate(
                Definition.StoredAggregate.newBuilder()
                    .setName(name)
                    .setFilter(filterName)
                    .setFunction(function)
                    .setBucketNs(Math.max(LEAST_BUCKET_NS, windowNs / BUCKETS))
                    .setBuckets((int) (4 * BUCKETS)))
            .build());
    if (!when.isBlank()) {
      definitions.add(
          Definition.newBuilder()
              .setTrigger(
                  Definition.Trigger.newBuilder()
                      .setName(name)
                      .setAggregate(name)
                      .setCondition(when)
                      .setWindowNs(windowNs)
                      .setPeriodNs(everyNs)
                      .setSeverity(severity))
              .build());
    }
    return definitions;
  }

  /** What takes the definitions back, in order. */
  static List<RemoveRequest> removals(String name) {
    return List.of(
        RemoveRequest.newBuilder().setTrigger(name).build(),
        RemoveRequest.newBuilder().setAggregate(name).build(),
        RemoveRequest.newBuilder().setFilter(name + "_filter").build());
  }
}
