package io.tapline.flink.support;

import com.google.protobuf.ByteString;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Comparison;
import io.tapline.schema.proto.ConditionTree.Field;
import io.tapline.schema.proto.ConditionTree.Literal;
import io.tapline.schema.proto.ConditionTree.Membership;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.ConditionTree.Term;
import io.tapline.schema.proto.TupleFilter;
import java.util.List;

/** Builds conditions with the types that the query compiler assigns. */
public final class Conditions {
  private Conditions() {}

  /** Returns a condition that is true if the field's string is one of {@code texts}. */
  public static ConditionTree text(String field, String... texts) {
    Membership.Builder among = Membership.newBuilder().setField(named(field));
    for (String text : texts) {
      among.addRangesBuilder().setLow(Literal.newBuilder().setText(ByteString.copyFromUtf8(text)));
    }
    return tree(Node.newBuilder().setMembership(among));
  }

  /**
   * Returns a condition that is true if the field's number, boolean or address is one of {@code
   * words}, which may also be address prefixes.
   */
  public static ConditionTree among(String field, String... words) {
    Membership.Builder among = Membership.newBuilder().setField(named(field));
    for (String word : words) {
      among.addRangesBuilder().setLow(Literal.newBuilder().setWord(word));
    }
    return tree(Node.newBuilder().setMembership(among));
  }

  /** Returns a condition that compares a field with a number. */
  public static ConditionTree compared(String field, Order order, long number) {
    Literal literal = Literal.newBuilder().setWord(Long.toString(number)).build();
    return tree(
        Node.newBuilder()
            .setComparison(
                Comparison.newBuilder()
                    .addLeft(Term.newBuilder().setField(named(field)))
                    .setOrder(order)
                    .addRight(Term.newBuilder().setLiteral(literal))));
  }

  /** Returns a filter that applies a condition to the tuples of these parsers. */
  public static TupleFilter of(ConditionTree condition, String... parsers) {
    return TupleFilter.newBuilder().addAllParsers(List.of(parsers)).setCondition(condition).build();
  }

  private static Field named(String field) {
    return Field.newBuilder().setName(field).build();
  }

  private static ConditionTree tree(Node.Builder leaf) {
    return ConditionTree.newBuilder().addNodes(leaf).build();
  }
}
