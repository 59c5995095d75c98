package io.tapline.control.drill;

import io.tapline.compiler.access.Scope;
import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.control.drill.DrillException.Kind;
import io.tapline.schema.rpc.AggregateFunction;
import io.tapline.schema.rpc.Definition;
import io.tapline.schema.rpc.RemoveRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * An aggregate that nodes maintain, with a condition for alerts, like Confluo's control programs;
 * or a condition that a monitor tests.
 *
 * @param filter selects headers; its scope is the owner's, and no host outside that scope evaluates
 *     the watch
 * @param aggregate aggregate over these headers
 * @param when alert condition on the aggregate ("SUM > 1MB"); empty for none
 * @param windowNs event-time window over which the condition's aggregate is computed
 * @param everyNs interval at which the condition is evaluated
 * @param severity info, warning or critical
 * @param nodes names of the hosts; empty for all
 * @param together true if the condition applies to the sum over all hosts instead of to each host
 * @param run where it is evaluated; in a monitor, {@code when} is a condition on the packets of a
 *     window, {@code filter} is in the syntax of a query's trigger, and only the groups of {@code
 *     aggregate} are used
 * @param rules when alerts begin and end; only for watches in a monitor
 */
public record WatchSpec(
    HeaderFilter filter,
    DrillAggregate aggregate,
    String when,
    long windowNs,
    long everyNs,
    String severity,
    List<String> nodes,
    boolean together,
    WatchRun run,
    Rules rules) {
  /**
   * When alerts of a watch in a monitor begin and end, as in a query's trigger.
   *
   * @param after number of consecutive windows that must meet the condition before an alert begins
   * @param clear threshold or condition that ends an alert; empty: the window does not meet the
   *     condition
   * @param cooldownNs minimum time between the beginnings of two alerts of a group
   */
  public record Rules(int after, String clear, long cooldownNs) {
    /** An alert begins and ends with each window that meets the condition. */
    public static final Rules NONE = new Rules(1, "", 0);
  }

  /** The names that {@link #PROGRESS} matches. */
  public static final Set<String> PROGRESS_NAMES = Set.of("SEQ", "TS");

  /** Names of aggregates' outputs, which conditions can compare. */
  public static final Pattern OUTPUTS =
      Pattern.compile(
          "(?i)COUNT|SUM|AVG|MIN|MAX|STDEV|DISTINCT|QUANTILE|SEQ|TS|VALUE|P[0-9]+(\\.[0-9]+)?");

  /**
   * Variables of Confluo's Figure 2: the highest sequence number that a sender has reached, and the
   * time of the header that reached it.
   */
  private static final Pattern PROGRESS = Pattern.compile("(?<![\\w.])(SEQ|TS)(?![\\w.])");

  /**
   * Maximum number of flow directions per node whose progress is kept; retransmissions in others
   * are not found.
   */
  private static final int MAX_FLOWS = 4096;

  /** A field, optionally with one or two address prefix lengths. */
  private static final Pattern MONITOR_GROUP = Pattern.compile("[A-Za-z_-]+(/[0-9]{1,3}){0,2}");

  private static final long MIN_BUCKET_NS = 1_000_000;

  /** Maximum length of a monitor's window, as a multiple of {@code everyNs}. */
  private static final long MAX_PANES = 100;

  /** Number of buckets in a window, which slides by one bucket at a time. */
  private static final long BUCKETS = 10;

  /** A cooldown that is shorter than the distance between any two windows. */
  private static final long EVERY_WINDOW_NS = 1;

  /** A year in nanoseconds. */
  private static final long MAX_NS = 365L * 24 * 3600 * 1_000_000_000;

  /** Creates a specification, which {@link #check} validates. */
  public WatchSpec {
    nodes = List.copyOf(nodes);
  }

  /** Creates a watch whose alerts have no rules. */
  public WatchSpec(
      HeaderFilter filter,
      DrillAggregate aggregate,
      String when,
      long windowNs,
      long everyNs,
      String severity,
      List<String> nodes,
      boolean together,
      WatchRun run) {
    this(filter, aggregate, when, windowNs, everyNs, severity, nodes, together, run, Rules.NONE);
  }

  /** Creates a watch on nodes. */
  public WatchSpec(
      HeaderFilter filter,
      DrillAggregate aggregate,
      String when,
      long windowNs,
      long everyNs,
      String severity,
      List<String> nodes,
      boolean together) {
    this(filter, aggregate, when, windowNs, everyNs, severity, nodes, together, WatchRun.NODES);
  }

  /** Creates a watch for an unrestricted caller. */
  public WatchSpec(
      String filter,
      DrillAggregate aggregate,
      String when,
      long windowNs,
      long everyNs,
      String severity,
      List<String> nodes,
      boolean together) {
    this(
        HeaderFilter.ofText(filter), aggregate, when, windowNs, everyNs, severity, nodes, together);
  }

  /** Creates a watch whose condition applies to each node. */
  public WatchSpec(
      String filter,
      DrillAggregate aggregate,
      String when,
      long windowNs,
      long everyNs,
      String severity,
      List<String> nodes) {
    this(filter, aggregate, when, windowNs, everyNs, severity, nodes, false);
  }

  /** Returns the scope of the owner. */
  Scope scope() {
    return filter.scope();
  }

  /**
   * Validates everything that can be checked without a node.
   *
   * @throws DrillException if something is invalid
   */
  public void check() throws DrillException {
    requireTime("window", windowNs);
    requireTime("every", everyNs);
    if (!List.of("info", "warning", "critical").contains(severity)) {
      throw new DrillException(
          Kind.INVALID, "severity '" + severity + "' is not one of info, warning, critical");
    }
    if (run.inMonitor()) {
      checkMonitor();
    } else if (!rules.equals(Rules.NONE)) {
      throw DrillException.invalid(
          "nodes report each window that meets the condition: leave out after, clear and cooldown, or use run=monitor");
    } else if (together) {
      SharedThreshold.parse(when, aggregate);
    }
  }

  private void checkMonitor() throws DrillException {
    if (windowNs % everyNs != 0 || windowNs / everyNs > MAX_PANES) {
      throw DrillException.invalid(
          "a monitor's window must be a multiple of every, at most %d times as long"
              .formatted(MAX_PANES));
    } else if (rules.after() < 1 || rules.after() > ProcessorCatalogue.MAX_AFTER) {
      throw DrillException.invalid("after must be 1 to " + ProcessorCatalogue.MAX_AFTER);
    } else if (rules.cooldownNs() != 0) {
      requireTime("cooldown", rules.cooldownNs());
    }
    if (together || !nodes.isEmpty()) {
      throw DrillException.invalid(
          "a watch in a monitor counts the packets of the server's one monitor: leave out hosts and together, or use run=node");
    } else if (!aggregate.text().equals("COUNT")) {
      throw DrillException.invalid(
          "a watch in a monitor compares values in its condition: instead of aggregate %s, write when=\"%s > …\""
              .formatted(aggregate.text(), aggregate.text().toLowerCase(Locale.ROOT)));
    } else if (!aggregate.groupBy().stream().allMatch(MONITOR_GROUP.asMatchPredicate())) {
      throw DrillException.invalid(
          "a monitor groups packets by addresses, networks and ports, such as src_ip/24 or dst_port, not by "
              + String.join(", ", aggregate.groupBy()));
    } else if ((filter.text() + when + rules.clear()).contains("\"")) {
      throw DrillException.invalid(
          "a monitor compares only addresses and ports of packets, not strings: leave out quotes, or use run=node");
    }
  }

  private static void requireTime(String name, long ns) throws DrillException {
    if (ns < MIN_BUCKET_NS || ns > MAX_NS) {
      throw new DrillException(Kind.INVALID, name + " must be 1 ms to a year");
    }
  }

  /**
   * Returns the threshold on all nodes together. REQUIRES: {@code together} is true, and {@link
   * #check} was successful.
   */
  SharedThreshold threshold() {
    try {
      return SharedThreshold.parse(when, aggregate);
    } catch (DrillException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Returns the definitions for a node, in order.
   *
   * @param sharers number of nodes that have the watch
   */
  List<Definition> definitions(String name, int sharers) {
    List<Definition> definitions = new ArrayList<>();
    String filterName = filterName(name);
    if (PROGRESS.matcher(filter.text()).find()) {
      definitions.add(progress(name + "_seq"));
    }
    if (!filterName.isEmpty()) {
      definitions.add(Definition.newBuilder().setFilter(filter(filterName, name + "_seq")).build());
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
                    .setBucketNs(Math.max(MIN_BUCKET_NS, windowNs / BUCKETS))
                    .setBuckets((int) (4 * BUCKETS)))
            .build());
    if (!when.isBlank()) {
      definitions.add(
          Definition.newBuilder()
              .setTrigger(
                  Definition.Trigger.newBuilder()
                      .setName(name)
                      .setAggregate(name)
                      .setCondition(together ? threshold().share(sharers) : when)
                      .setWindowNs(windowNs)
                      .setCooldownNs(together ? EVERY_WINDOW_NS : 0)
                      .setPeriodNs(everyNs)
                      .setSeverity(severity))
              .build());
    }
    return definitions;
  }

  /**
   * Returns the name of the filter on nodes; empty if all headers are selected.
   *
   * @param name name of the watch
   */
  public String filterName(String name) {
    return filter.isAll() ? "" : name + "_filter";
  }

  /**
   * Returns the filter's definition.
   *
   * @param progress name of the aggregate whose outputs are the variables of Confluo's Figure 2
   */
  private Definition.Filter filter(String name, String progress) {
    Definition.Filter.Builder definition =
        Definition.Filter.newBuilder()
            .setName(name)
            .setExpression(PROGRESS.matcher(filter.expression()).replaceAll(progress + ".$1"));
    if (filter.condition().isPresent()) {
      definition
          .setCondition(
              filter.renamed(
                  filterName ->
                      PROGRESS_NAMES.contains(filterName)
                          ? progress + "." + filterName
                          : filterName))
          .addAggregates(progress);
    }
    if (!scope().isEverything()) {
      definition.setScope(scope().ofHeaders());
    }
    return definition.build();
  }

  /** Returns the definition of the progress aggregate by flow and direction, over all time. */
  private static Definition progress(String name) {
    return Definition.newBuilder()
        .setAggregate(
            Definition.StoredAggregate.newBuilder()
                .setName(name)
                .setFunction(
                    AggregateFunction.newBuilder()
                        .setFunction("MAXSEQ")
                        .addGroupBy("flow")
                        .addGroupBy("src_port")
                        .setMaxGroups(MAX_FLOWS))
                .setBucketNs(MAX_NS)
                .setBuckets(2))
        .build();
  }

  /** Returns the requests that remove the definitions, in order. */
  static List<RemoveRequest> removals(String name) {
    return List.of(
        RemoveRequest.newBuilder().setTrigger(name).build(),
        RemoveRequest.newBuilder().setAggregate(name).build(),
        RemoveRequest.newBuilder().setFilter(name + "_filter").build(),
        RemoveRequest.newBuilder().setAggregate(name + "_seq").build());
  }
}
