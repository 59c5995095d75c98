package io.tapline.control.drill;

import io.tapline.compiler.access.Scope;
import io.tapline.compiler.conditions.ConditionParser;
import io.tapline.compiler.conditions.ConditionSyntaxException;
import io.tapline.conditions.Trees;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Aggregate;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Term;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * A condition on headers, and the caller's scope, which nodes AND with the condition.
 *
 * @param text the caller's text; blank for all headers
 * @param condition the text as a tree; empty if only the nodes can parse it
 * @param scope scope of the caller
 */
public record HeaderFilter(String text, Optional<ConditionTree> condition, Scope scope) {
  /** Filter that selects all headers, for an unrestricted caller. */
  public static final HeaderFilter ALL = ofText("");

  /** Returns a filter of an unrestricted caller, which the nodes parse. */
  public static HeaderFilter ofText(String text) {
    return new HeaderFilter(text, Optional.empty(), Scope.EVERYTHING);
  }

  /**
   * Parses a filter.
   *
   * @param fields fields of headers; if empty, the nodes parse an unrestricted caller's filter
   * @param aggregates returns true for the aggregates that a filter of a restricted caller may
   *     name: others cover headers beyond its scope, and a comparison would reveal their values
   * @throws ConditionSyntaxException if the filter is invalid or not allowed
   */
  public static HeaderFilter parse(
      String text, Set<String> fields, Scope scope, Predicate<String> aggregates)
      throws ConditionSyntaxException {
    if (fields.isEmpty() && scope.isEverything()) {
      return ofText(text);
    }
    ConditionTree condition = ConditionParser.parse(text, fields);
    if (!scope.isEverything()) {
      for (Aggregate aggregate : aggregates(condition)) {
        if (!aggregates.test(aggregate.getName())) {
          throw ConditionSyntaxException.noField(aggregate.getName(), aggregate.getAt());
        }
      }
    }
    return new HeaderFilter(text, Optional.of(condition), scope);
  }

  private static List<Aggregate> aggregates(ConditionTree condition) {
    return condition.getNodesList().stream()
        .map(Node::getComparison)
        .flatMap(
            comparison ->
                Stream.concat(
                    comparison.getLeftList().stream(), comparison.getRightList().stream()))
        .filter(Term::hasAggregate)
        .map(Term::getAggregate)
        .toList();
  }

  /** Returns true if the filter selects all headers. */
  boolean isAll() {
    return text.isBlank() && scope.isEverything();
  }

  /**
   * Returns the filter for nodes of the previous version, which accept no trees. A restricted
   * caller's filter is printed from the trees, so its text can't close the scope's parentheses.
   */
  public String expression() {
    return scope.isEverything()
        ? text
        : Trees.text(Trees.and(List.of(condition.orElseThrow(), scope.ofHeaders())));
  }

  /** Returns the filter with renamed aggregates. REQUIRES: it has a tree. */
  ConditionTree renamed(UnaryOperator<String> name) {
    ConditionTree.Builder renamed = condition.orElseThrow().toBuilder();
    for (Node.Builder node : renamed.getNodesBuilderList()) {
      if (node.hasComparison()) {
        Stream.concat(
                node.getComparisonBuilder().getLeftBuilderList().stream(),
                node.getComparisonBuilder().getRightBuilderList().stream())
            .filter(Term.Builder::hasAggregate)
            .map(Term.Builder::getAggregateBuilder)
            .forEach(
                aggregateBuilder ->
                    aggregateBuilder.setName(name.apply(aggregateBuilder.getName())));
      }
    }
    return renamed.build();
  }
}
