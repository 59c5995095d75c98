package io.tapline.conditions;

import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Literal;
import io.tapline.schema.proto.ConditionTree.Membership;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.ConditionTree.Term;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Limits on condition trees, and functions that combine and print them, like conditions/tree/tree.h
 * in C++.
 */
public final class Trees {
  /** Maximum number of nodes in a tree. */
  public static final int MAX_NODES = 16384;

  /** Maximum number of comparisons in a tree, and of values in a list. */
  public static final int MAX_LEAVES = 4096;

  /** Maximum number of levels in a tree. */
  public static final int MAX_DEPTH = 256;

  /** The tree that is true for every row. */
  public static final ConditionTree ALL = ConditionTree.getDefaultInstance();

  private Trees() {}

  /** Returns the number of results that a node combines; 0 for a leaf. */
  public static int children(Node node) {
    return switch (node.getKindCase()) {
      case ALL -> node.getAll();
      case ANY -> node.getAny();
      case NOT -> 1;
      default -> 0;
    };
  }

  private static boolean isLeaf(Node node) {
    return switch (node.getKindCase()) {
      case COMPARISON, MEMBERSHIP, PRESENT -> true;
      default -> false;
    };
  }

  /**
   * Checks that the nodes form one tree within the limits.
   *
   * @return for each node, true if it is under an odd number of negations
   * @throws ConditionException if they do not
   */
  static boolean[] negated(ConditionTree tree) throws ConditionException {
    int count = tree.getNodesCount();
    if (count > MAX_NODES) {
      throw new ConditionException(0, "the condition has more than " + MAX_NODES + " nodes");
    }
    boolean[] negated = new boolean[count];
    // Walks backwards from the root. A level is the number of missing nodes, and 1 if negated.
    Deque<long[]> levels = new ArrayDeque<>();
    levels.push(new long[] {count == 0 ? 0 : 1, 0});
    int leaves = 0;
    for (int i = count - 1; i >= 0; i--) {
      Node node = tree.getNodes(i);
      while (!levels.isEmpty() && levels.peek()[0] == 0) {
        levels.pop();
      }
      if (levels.isEmpty()) {
        throw new ConditionException(
            node.getAt(), "the condition is not a tree: a node has no parent");
      }
      levels.peek()[0]--;
      negated[i] = levels.peek()[1] != 0;
      boolean joins =
          node.getKindCase() == Node.KindCase.ALL || node.getKindCase() == Node.KindCase.ANY;
      if (node.getKindCase() == Node.KindCase.KIND_NOT_SET || joins && children(node) == 0) {
        throw new ConditionException(
            node.getAt(), "the condition has a node that is empty or of an unknown kind");
      } else if (isLeaf(node) && ++leaves > MAX_LEAVES) {
        throw new ConditionException(node.getAt(), "more than " + MAX_LEAVES + " comparisons");
      }
      if (children(node) != 0) {
        boolean isBelow = negated[i] != (node.getKindCase() == Node.KindCase.NOT);
        levels.push(new long[] {Integer.toUnsignedLong(children(node)), isBelow ? 1 : 0});
        if (levels.size() > MAX_DEPTH + 1) {
          throw new ConditionException(node.getAt(), "nested too deeply");
        }
      }
    }
    if (levels.stream().anyMatch(level -> level[0] > 0)) {
      throw new ConditionException(0, "the condition is not a tree: a node is missing");
    }
    return negated;
  }

  /** Returns a tree that is true if a field has one of the values, or is in one of the prefixes. */
  public static ConditionTree isOneOf(String field, Collection<Literal> values) {
    Membership.Builder among =
        Membership.newBuilder().setField(ConditionTree.Field.newBuilder().setName(field));
    values.forEach(value -> among.addRangesBuilder().setLow(value));
    return ConditionTree.newBuilder().addNodes(Node.newBuilder().setMembership(among)).build();
  }

  /** Returns the literal for a number, a word, an address or a prefix. */
  public static Literal word(String text) {
    return Literal.newBuilder().setWord(text).build();
  }

  /** Returns the conjunction of these trees. */
  public static ConditionTree and(Collection<ConditionTree> trees) {
    return joined(trees, true);
  }

  /** Returns the disjunction of these trees. REQUIRES: each tree has nodes. */
  public static ConditionTree or(Collection<ConditionTree> trees) {
    return joined(trees, false);
  }

  /** Returns the negation of a tree. REQUIRES: it has nodes. */
  public static ConditionTree not(ConditionTree tree) {
    Node not = Node.newBuilder().setNot(ConditionTree.Not.getDefaultInstance()).build();
    return tree.toBuilder().addNodes(not).build();
  }

  /**
   * Returns the conditions that a tree joins by AND, in order; only the tree itself if its root is
   * not an AND. REQUIRES: {@link #negated} accepts the tree.
   */
  public static List<ConditionTree> conjuncts(ConditionTree tree) {
    List<ConditionTree> conjuncts = new ArrayList<>();
    addConjuncts(tree.getNodesList(), conjuncts);
    return conjuncts;
  }

  private static void addConjuncts(List<Node> nodes, List<ConditionTree> conjuncts) {
    int root = nodes.size() - 1;
    if (root < 0 || nodes.get(root).getKindCase() != Node.KindCase.ALL) {
      conjuncts.add(ConditionTree.newBuilder().addAllNodes(nodes).build());
      return;
    }
    Deque<List<Node>> children = new ArrayDeque<>();
    int end = root;
    for (int i = 0; i < nodes.get(root).getAll(); i++) {
      int begin = begin(nodes, end);
      children.push(nodes.subList(begin, end));
      end = begin;
    }
    children.forEach(child -> addConjuncts(child, conjuncts));
  }

  /** Returns the index of the first node of the subtree that ends before {@code end}. */
  private static int begin(List<Node> nodes, int end) {
    int begin = end;
    for (int missing = 1; missing > 0; missing--) {
      begin--;
      missing += children(nodes.get(begin));
    }
    return begin;
  }

  private static ConditionTree joined(Collection<ConditionTree> trees, boolean and) {
    ConditionTree.Builder joined = ConditionTree.newBuilder();
    int count = 0;
    for (ConditionTree tree : trees) {
      joined.addAllNodes(tree.getNodesList());
      count += tree.getNodesCount() > 0 ? 1 : 0;
    }
    if (count > 1) {
      joined.addNodes(and ? Node.newBuilder().setAll(count) : Node.newBuilder().setAny(count));
    }
    return joined.build();
  }

  /** The precedence of an expression's outermost operator, lowest first. */
  private enum Binding {
    OR,
    AND,
    TIGHT
  }

  private record Part(String text, Binding binding) {
    String within(Binding outer) {
      return binding.compareTo(outer) <= 0 ? "(" + text + ")" : text;
    }
  }

  /**
   * Returns the canonical text in MultiLog's language, which parses to an equivalent tree; empty
   * for a tree without nodes. REQUIRES: {@link #negated} accepts the tree.
   */
  public static String text(ConditionTree tree) {
    List<Part> parts = new ArrayList<>();
    for (Node node : tree.getNodesList()) {
      int first = parts.size() - children(node);
      List<Part> below = List.copyOf(parts.subList(first, parts.size()));
      parts.subList(first, parts.size()).clear();
      parts.add(
          switch (node.getKindCase()) {
            case ALL -> joined(below, " && ", Binding.AND);
            case ANY -> joined(below, " || ", Binding.OR);
            case NOT -> new Part("!(" + below.get(0).text() + ")", Binding.TIGHT);
            default -> new Part(leaf(node), Binding.TIGHT);
          });
    }
    return parts.isEmpty() ? "" : parts.get(0).text();
  }

  private static Part joined(List<Part> parts, String separator, Binding binding) {
    return parts.size() == 1
        ? parts.get(0)
        : new Part(
            parts.stream().map(part -> part.within(binding)).collect(Collectors.joining(separator)),
            binding);
  }

  private static String leaf(Node node) {
    return switch (node.getKindCase()) {
      case CONSTANT -> String.valueOf(node.getConstant());
      case PRESENT -> "has(" + text(node.getPresent()) + ")";
      case MEMBERSHIP -> text(node.getMembership());
      default ->
          text(node.getComparison().getLeftList())
              + " "
              + symbol(node.getComparison().getOrder())
              + " "
              + text(node.getComparison().getRightList());
    };
  }

  private static String text(Membership membership) {
    String field = text(membership.getField());
    if (membership.hasPattern()) {
      return field + " like " + text(membership.getPattern());
    }
    String values =
        membership.getRangesList().stream()
            .map(r -> text(r.getLow()) + (r.hasHigh() ? " .. " + text(r.getHigh()) : ""))
            .collect(Collectors.joining(", "));
    boolean one = membership.getRangesCount() == 1;
    String operator = membership.getAnyElement() ? " contains " : " in ";
    return field + operator + (one ? values : "{" + values + "}");
  }

  private static String text(ConditionTree.Field field) {
    return field.hasElement() ? field.getName() + "[" + field.getElement() + "]" : field.getName();
  }

  private static String text(Literal literal) {
    if (!literal.hasText()) {
      return literal.getWord();
    }
    String text = literal.getText().toStringUtf8();
    return text.contains("\"")
        ? "0x" + HexFormat.of().formatHex(literal.getText().toByteArray())
        : "\"" + text + "\"";
  }

  /** Writes one sign per term, since the language does not allow two signs in a row. */
  private static String text(List<Term> terms) {
    StringBuilder text = new StringBuilder();
    for (Term term : terms) {
      String value = text(term);
      boolean signedWord = term.getLiteral().getWord().startsWith("-");
      boolean isNegative = term.getNegative() != signedWord;
      text.append(text.isEmpty() ? isNegative ? "-" : "" : isNegative ? " - " : " + ");
      text.append(signedWord ? value.substring(1) : value);
    }
    return text.toString();
  }

  private static String text(Term term) {
    return switch (term.getValueCase()) {
      case FIELD -> text(term.getField());
      case AGGREGATE -> term.getAggregate().getName();
      default -> text(term.getLiteral());
    };
  }

  private static String symbol(Order order) {
    return switch (order) {
      case NOT_EQUAL -> "!=";
      case LESS -> "<";
      case LESS_OR_EQUAL -> "<=";
      case GREATER -> ">";
      case GREATER_OR_EQUAL -> ">=";
      default -> "==";
    };
  }

  /** Returns true if a comparison's result (negative, 0 or positive) satisfies an order. */
  static boolean holds(Order order, int compared) {
    return switch (order) {
      case NOT_EQUAL -> compared != 0;
      case LESS -> compared < 0;
      case LESS_OR_EQUAL -> compared <= 0;
      case GREATER -> compared > 0;
      case GREATER_OR_EQUAL -> compared >= 0;
      default -> compared == 0;
    };
  }
}
