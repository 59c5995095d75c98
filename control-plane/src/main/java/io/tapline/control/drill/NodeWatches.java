package io.tapline.control.drill;

import io.tapline.schema.rpc.Definition;
import io.tapline.schema.rpc.NodeDescription;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The watches that a node has when its event stream begins.
 *
 * @param names names of watches that the node has at least in part
 * @param aggregates names of watches whose aggregate the node has
 * @param conditions conditions of the node's triggers, by name
 */
record NodeWatches(Set<String> names, Set<String> aggregates, Map<String, String> conditions) {
  /** A node whose watches are unknown. */
  static final NodeWatches NONE = new NodeWatches(Set.of(), Set.of(), Map.of());

  private static final Pattern OURS = Pattern.compile("watch_\\d+(_filter|_seq)?");

  /** Returns the watches that a node's definitions belong to. */
  static NodeWatches of(NodeDescription description) {
    Set<String> names = new LinkedHashSet<>();
    Set<String> aggregates = new HashSet<>();
    Map<String, String> conditions = new HashMap<>();
    for (Definition definition : description.getDefinitionsList()) {
      switch (definition.getKindCase()) {
        case FILTER -> add(definition.getFilter().getName(), names);
        case AGGREGATE -> {
          add(definition.getAggregate().getName(), names);
          aggregates.add(definition.getAggregate().getName());
        }
        case TRIGGER ->
            conditions.put(
                definition.getTrigger().getName(), definition.getTrigger().getCondition());
        default -> {
          // Watches do not define indexes.
        }
      }
    }
    return new NodeWatches(names, aggregates, conditions);
  }

  private static void add(String name, Set<String> names) {
    if (OURS.matcher(name).matches()) {
      names.add(name.replaceFirst("_(filter|seq)$", ""));
    }
  }

  /** Returns true if the node has the complete watch; a crashed server may have left a part. */
  boolean has(String name, WatchSpec spec) {
    return aggregates.contains(name) && (spec.when().isBlank() || conditions.containsKey(name));
  }

  /** Returns true if the node has the trigger with this condition. */
  boolean hasTrigger(String name, String condition) {
    return condition.equals(conditions.get(name));
  }

  /**
   * Returns the coverage of a watch by a node that evaluates it now.
   *
   * @param previousCoverage coverage so far; null if the node has never evaluated the watch
   * @param description the node's current description
   * @param isPresent true if the node had the watch when its stream began
   * @param heardNs time of the node's previous contact; 0 if never
   */
  static Coverage coverage(
      WatchRecord watch,
      Coverage previousCoverage,
      NodeDescription description,
      boolean isPresent,
      long heardNs,
      long nowNs) {
    long incarnation = description.getIncarnation();
    if (previousCoverage == null && isPresent && incarnation < watch.addedNs()) {
      // A server crashed after the node had accepted the watch, before it stored the coverage.
      return Coverage.since(incarnation, watch.addedNs());
    } else if (previousCoverage == null) {
      return Coverage.since(incarnation, nowNs)
          .resumed(incarnation, watch.addedNs(), nowNs, "the node could not be reached");
    }
    long beginNs = Math.max(heardNs, previousCoverage.sinceNs());
    boolean isSame =
        previousCoverage.incarnation() == 0 || previousCoverage.incarnation() == incarnation;
    if (!isSame) {
      return previousCoverage.resumed(incarnation, beginNs, nowNs, "the node was restarted");
    }
    if (!isPresent) {
      return previousCoverage.resumed(
          incarnation, beginNs, nowNs, "the node no longer had the watch");
    }
    // A node of an earlier version drops alerts while no control plane is attached.
    return description.hasLastAlert() || previousCoverage.incarnation() == 0
        ? previousCoverage.of(incarnation)
        : previousCoverage.resumed(incarnation, beginNs, nowNs, "the node kept no alerts");
  }
}
