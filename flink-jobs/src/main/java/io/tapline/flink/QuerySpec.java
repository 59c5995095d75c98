package io.tapline.flink;

import io.tapline.schema.proto.FieldCondition;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.TupleFilter;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The part of a plan that the job needs, validated.
 *
 * @param monitors monitor IDs in the plan's order; everywhere in the job, a monitor is identified
 *     by its index in this list
 * @param partitions partition of each monitor
 */
public record QuerySpec(
    String query,
    String topic,
    List<String> parsers,
    List<String> monitors,
    List<Integer> partitions,
    List<ProcessorSpec> processors,
    List<TupleFilter> filters)
    implements Serializable {

  private static final int FORMAT = 1;

  /** Slot length if every window spans the whole query, so that packet times are irrelevant. */
  private static final long WHOLE_QUERY_SLOT_NS = 1L << 61;

  private static final Pattern NAME = Pattern.compile("[a-z0-9-]+");

  /**
   * Validates a plan.
   *
   * @throws IllegalArgumentException if no job can run this plan; the message says why
   */
  public static QuerySpec of(Plan plan) {
    check(plan.getFormat() == FORMAT, "format is " + plan.getFormat() + ", not " + FORMAT);
    check(
        NAME.matcher(plan.getQuery()).matches(),
        "query ID '" + plan.getQuery() + "' may contain only lowercase letters, digits and '-'");
    check(!plan.getTopic().isEmpty(), "it does not name a topic");
    check(plan.getMonitorsCount() > 0, "no monitor is given, so the job would never end");
    check(plan.getProcessorsCount() > 0, "no processor is given, so there would be no results");
    List<String> monitors = plan.getMonitorsList().stream().map(Monitor::getId).toList();
    check(new HashSet<>(monitors).size() == monitors.size(), "it names a monitor twice");
    return new QuerySpec(
        plan.getQuery(),
        plan.getTopic(),
        List.copyOf(plan.getParsersList()),
        monitors,
        plan.getMonitorsList().stream().map(Monitor::getPartition).toList(),
        processors(plan),
        filters(plan));
  }

  private static List<TupleFilter> filters(Plan plan) {
    for (FieldCondition condition : plan.getWhereList()) {
      check(condition.getValuesCount() > 0, "WHERE " + condition.getField() + " has no value");
    }
    List<TupleFilter> filters = new ArrayList<>(plan.getFiltersList());
    plan.getWhereList().stream().map(EarlierConditions::filter).forEach(filters::add);
    for (TupleFilter filter : filters) {
      check(filter.getParsersCount() > 0, "WHERE does not name a parser");
      check(filter.getCondition().getNodesCount() > 0, "WHERE has no condition");
    }
    return List.copyOf(filters);
  }

  private static List<ProcessorSpec> processors(Plan plan) {
    List<ProcessorSpec> specs = new ArrayList<>();
    for (int i = 0; i < plan.getProcessorsCount(); i++) {
      ProcessorSpec spec = ProcessorSpec.of(i, plan.getProcessors(i));
      check(
          plan.getParsersList().contains(spec.parser()),
          "processor "
              + spec.name()
              + " reads parser "
              + spec.parser()
              + ", which the query does not run");
      check(
          !spec.key().isJoin() || plan.getParsersList().contains(spec.key().joinParser()),
          "processor "
              + spec.name()
              + " joins "
              + spec.key().joinParser()
              + ", which the query does not run");
      check(
          spec.key().fields().containsAll(spec.key().joinFields()),
          "processor " + spec.name() + " joins a field that is not in its key");
      specs.add(spec);
    }
    return specs;
  }

  private static void check(boolean holds, String fault) {
    if (!holds) {
      throw new IllegalArgumentException("plan: " + fault);
    }
  }

  /**
   * Returns the greatest common divisor of all pane lengths, except those of whole-query windows.
   */
  public long slotNs() {
    return processors.stream()
        .filter(spec -> !spec.window().isWholeQuery())
        .mapToLong(spec -> spec.window().paneNs())
        .reduce(WindowSpec::gcd)
        .orElse(WHOLE_QUERY_SLOT_NS);
  }

  /**
   * Returns what the job aggregates: all processors in their order, then the operands of triggers.
   * A table is identified by its position in this list.
   */
  public List<ProcessorSpec> tables() {
    return Stream.concat(
            processors.stream(), processors.stream().flatMap(spec -> spec.operands().stream()))
        .toList();
  }

  /** Returns the partitions to which the plan assigns monitors. */
  public Set<Integer> usedPartitions() {
    return new TreeSet<>(partitions);
  }
}
