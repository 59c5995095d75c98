package io.tapline.conditions;

import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Node;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * A condition compiled for rows whose fields have the types of tuple columns; the C++ twin is
 * conditions/expr. It is in negation normal form, so unknown counts as false. Immutable: any thread
 * may evaluate it.
 *
 * <p>Evaluates by row or by column. By column, the caller evaluates the leaves, and may test each
 * distinct value of a column only once; {@link #select} combines the results.
 */
public final class ConditionProgram {
  /** A row's values, by the program's field numbers. */
  public interface Row {
    boolean isPresent(int field);

    /** Returns a whole number, the bits of a double, or 1 or 0 for a boolean. */
    long bits(int field);

    /** Returns a string in UTF-8, or an address of 4 or 16 bytes in network order. */
    byte[] bytes(int field);
  }

  /** A comparison that is true or false for a row; unknown counts as false. */
  public interface Leaf {
    boolean holds(Row row);

    /** Returns the numbers of the leaf's fields. */
    List<Integer> fields();
  }

  /** A comparison of a numeric field with constants. */
  public interface NumberLeaf extends Leaf {
    /**
     * Evaluates the comparison for a column.
     *
     * @param bits values of the rows, as {@link Row#bits} returns them
     * @param absent rows without a value; null if all have one
     * @return for each row, true if the comparison is true; the caller may change the array
     */
    boolean[] holds(long[] bits, boolean[] absent);
  }

  /** A step of the flat program: a leaf, and where to continue. */
  private record Step(Leaf leaf, int ifTrue, int ifFalse) {}

  private enum Kind {
    TRUE,
    FALSE,
    LEAF,
    AND,
    OR
  }

  private record Branch(Kind kind, Leaf leaf, List<Branch> children) {
    static final Branch TRUE = new Branch(Kind.TRUE, null, List.of());
    static final Branch FALSE = new Branch(Kind.FALSE, null, List.of());
  }

  private static final int ACCEPT = Integer.MAX_VALUE;
  private static final int REJECT = ACCEPT - 1;

  private final List<String> fields;
  private final Branch root;
  private final Step[] steps;
  private final int entry;

  private ConditionProgram(List<String> fields, Branch root) {
    this.fields = List.copyOf(fields);
    this.root = root;
    List<Step> flat = new ArrayList<>();
    entry = addSteps(root, ACCEPT, REJECT, flat);
    steps = flat.toArray(Step[]::new);
  }

  /**
   * Compiles a tree.
   *
   * @param types types of the fields; empty for an unknown field, which is absent from every row
   * @throws ConditionException if the tree is malformed or does not fit the types
   */
  public static ConditionProgram compile(
      ConditionTree tree, Function<String, Optional<Column.Type>> types) throws ConditionException {
    boolean[] negated = Trees.negated(tree);
    Leaves leaves = new Leaves(types);
    Deque<Branch> stack = new ArrayDeque<>();
    for (int i = 0; i < negated.length; i++) {
      Node node = tree.getNodes(i);
      switch (node.getKindCase()) {
        case CONSTANT -> stack.push(node.getConstant() != negated[i] ? Branch.TRUE : Branch.FALSE);
        case ALL -> stack.push(joined(!negated[i], node.getAll(), stack));
        case ANY -> stack.push(joined(negated[i], node.getAny(), stack));
        case NOT -> {
          // The child nodes were already built in negated form.
        }
        default -> stack.push(new Branch(Kind.LEAF, leaves.leaf(node, negated[i]), List.of()));
      }
    }
    return new ConditionProgram(leaves.fields(), stack.isEmpty() ? Branch.TRUE : stack.pop());
  }

  private static Branch joined(boolean and, int count, Deque<Branch> stack) {
    List<Branch> children = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      children.add(stack.pop());
    }
    Collections.reverse(children);
    return new Branch(and ? Kind.AND : Kind.OR, null, children);
  }

  /** Adds steps from the last child to the first: each needs the first step of the next one. */
  private static int addSteps(Branch branch, int ifTrue, int ifFalse, List<Step> steps) {
    switch (branch.kind()) {
      case TRUE -> {
        return ifTrue;
      }
      case FALSE -> {
        return ifFalse;
      }
      case LEAF -> {
        steps.add(new Step(branch.leaf(), ifTrue, ifFalse));
        return steps.size() - 1;
      }
      default -> {
        boolean and = branch.kind() == Kind.AND;
        int next = and ? ifTrue : ifFalse;
        for (int i = branch.children().size() - 1; i >= 0; i--) {
          Branch child = branch.children().get(i);
          next = and ? addSteps(child, next, ifFalse, steps) : addSteps(child, ifTrue, next, steps);
        }
        return next;
      }
    }
  }

  /** Returns the names of the fields, by number. */
  public List<String> fields() {
    return fields;
  }

  /** Returns true if the row meets the condition. */
  public boolean matches(Row row) {
    int index = entry;
    while (index < REJECT) {
      Step step = steps[index];
      index = step.leaf().holds(row) ? step.ifTrue() : step.ifFalse();
    }
    return index == ACCEPT;
  }

  /**
   * Returns, for each row, true if it meets the condition.
   *
   * @param holds evaluates a leaf for all rows; the array that it returns may be changed
   */
  public boolean[] select(int rows, Function<Leaf, boolean[]> holds) {
    return select(root, rows, holds);
  }

  private static boolean[] select(Branch branch, int rows, Function<Leaf, boolean[]> holds) {
    if (branch.kind() == Kind.LEAF) {
      return holds.apply(branch.leaf());
    }
    boolean[] selected = new boolean[rows];
    boolean and = branch.kind() == Kind.AND;
    Arrays.fill(selected, and || branch.kind() == Kind.TRUE);
    for (Branch child : branch.children()) {
      boolean[] part = select(child, rows, holds);
      for (int row = 0; row < rows; row++) {
        selected[row] = and ? selected[row] & part[row] : selected[row] | part[row];
      }
    }
    return selected;
  }
}
