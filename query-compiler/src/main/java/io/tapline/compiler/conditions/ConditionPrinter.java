package io.tapline.compiler.conditions;

import io.tapline.compiler.text.Names;
import io.tapline.conditions.Trees;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Comparison;
import io.tapline.schema.proto.ConditionTree.Literal;
import io.tapline.schema.proto.ConditionTree.Membership;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.ConditionTree.Range;
import io.tapline.schema.proto.ConditionTree.Term;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Prints a tree in the canonical spelling of {@code tapline fmt}: {@code AND}, {@code OR}, {@code
 * NOT}, {@code =} and {@code !=} for values and for lists, which are in parentheses. The text
 * parses to a tree with the same meaning, and printing that tree gives the same text.
 */
public final class ConditionPrinter {
  /** Precedence of an expression. */
  private enum Binding {
    OR,
    AND,
    NOT,
    LEAF
  }

  /** The text of a node, its precedence and, for a membership, the text of its negation. */
  private record Part(String text, Binding binding, String opposite) {
    Part(String text, Binding binding) {
      this(text, binding, "");
    }

    String within(Binding outer) {
      return binding.compareTo(outer) <= 0 ? "(" + text + ")" : text;
    }
  }

  private ConditionPrinter() {}

  /** Returns the text; empty for a tree without nodes. REQUIRES: the parser built the tree. */
  public static String text(ConditionTree tree) {
    List<Part> parts = new ArrayList<>();
    for (Node node : tree.getNodesList()) {
      int first = parts.size() - Trees.children(node);
      List<Part> below = List.copyOf(parts.subList(first, parts.size()));
      parts.subList(first, parts.size()).clear();
      parts.add(part(node, below));
    }
    return parts.isEmpty() ? "" : parts.get(0).text();
  }

  private static Part part(Node node, List<Part> below) {
    return switch (node.getKindCase()) {
      case ALL -> joined(below, " AND ", Binding.AND);
      case ANY -> joined(below, " OR ", Binding.OR);
      case NOT -> negated(below.get(0));
      case CONSTANT -> new Part(String.valueOf(node.getConstant()), Binding.LEAF);
      case PRESENT -> new Part("has(" + field(node.getPresent()) + ")", Binding.LEAF);
      case MEMBERSHIP -> membership(node.getMembership());
      default -> new Part(comparison(node.getComparison()), Binding.LEAF);
    };
  }

  private static Part joined(List<Part> parts, String separator, Binding binding) {
    return parts.size() == 1
        ? parts.get(0)
        : new Part(
            parts.stream()
                .map(part -> part.binding() == binding ? part.text() : part.within(binding))
                .collect(Collectors.joining(separator)),
            binding);
  }

  private static Part negated(Part part) {
    return part.opposite().isEmpty()
        ? new Part("NOT " + part.within(Binding.AND), Binding.NOT)
        : new Part(part.opposite(), Binding.LEAF);
  }

  private static Part membership(Membership membership) {
    String field = field(membership.getField());
    if (membership.hasPattern()) {
      String pattern = " LIKE " + membership.getPattern().getWord();
      return new Part(field + pattern, Binding.LEAF, field + " NOT" + pattern);
    }
    String values =
        membership.getRangesList().stream()
            .map(ConditionPrinter::range)
            .collect(Collectors.joining(", "));
    boolean isSingle = membership.getRangesCount() == 1 && !membership.getRanges(0).hasHigh();
    String set = isSingle ? values : "(" + values + ")";
    return membership.getAnyElement()
        ? new Part(field + " CONTAINS " + set, Binding.LEAF, field + " NOT CONTAINS " + set)
        : new Part(field + " = " + set, Binding.LEAF, field + " != " + set);
  }

  private static String range(Range range) {
    return range.hasHigh()
        ? literal(range.getLow()) + " .. " + literal(range.getHigh())
        : literal(range.getLow());
  }

  private static String comparison(Comparison comparison) {
    return sum(comparison.getLeftList(), true)
        + " "
        + symbol(comparison.getOrder())
        + " "
        + sum(comparison.getRightList(), false);
  }

  /** Joins terms with one sign between them, since the language forbids two signs in a row. */
  private static String sum(List<Term> terms, boolean left) {
    StringBuilder text = new StringBuilder();
    for (Term term : terms) {
      String value = term(term, left);
      boolean signedWord = term.getLiteral().getWord().startsWith("-");
      boolean isNegative = term.getNegative() != signedWord;
      text.append(text.isEmpty() ? isNegative ? "-" : "" : isNegative ? " - " : " + ");
      text.append(signedWord ? value.substring(1) : value);
    }
    return text.toString();
  }

  /**
   * Returns the text of a term. Keeps the spelling of a word on the right, which may be a string or
   * a host.
   */
  private static String term(Term term, boolean left) {
    return switch (term.getValueCase()) {
      case FIELD -> left ? field(term.getField()) : term.getField().getName();
      case AGGREGATE -> term.getAggregate().getName();
      default -> literal(term.getLiteral());
    };
  }

  private static String field(ConditionTree.Field field) {
    String name = Names.normal(field.getName());
    return field.hasElement() ? name + "[" + field.getElement() + "]" : name;
  }

  private static String literal(Literal literal) {
    return literal.hasText()
        ? ConditionTokens.quoted(literal.getText().toStringUtf8())
        : literal.getWord();
  }

  private static String symbol(Order order) {
    return switch (order) {
      case NOT_EQUAL -> "!=";
      case LESS -> "<";
      case LESS_OR_EQUAL -> "<=";
      case GREATER -> ">";
      case GREATER_OR_EQUAL -> ">=";
      default -> "=";
    };
  }
}
