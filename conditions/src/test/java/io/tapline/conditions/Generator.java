package io.tapline.conditions;

import com.google.protobuf.ByteString;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Literal;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.ConditionTree.Term;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Generates random conditions that fit the fields, and field values that the conditions can tell
 * apart.
 */
final class Generator {
  /** The fields, in the order of the golden file. */
  static final Map<String, Column.Type> FIELDS = new LinkedHashMap<>();

  static {
    FIELDS.put("count", Column.Type.U64);
    FIELDS.put("bytes", Column.Type.U64);
    FIELDS.put("offset_ns", Column.Type.I64);
    FIELDS.put("delta", Column.Type.I64);
    FIELDS.put("load", Column.Type.F64);
    FIELDS.put("ratio", Column.Type.F64);
    FIELDS.put("hit", Column.Type.BOOL);
    FIELDS.put("method", Column.Type.STRING);
    FIELDS.put("host", Column.Type.STRING);
    FIELDS.put("src_ip", Column.Type.ADDRESS);
    FIELDS.put("dst_ip", Column.Type.ADDRESS);
  }

  private static final List<String> UNSIGNED =
      List.of("0", "1", "2", "500", "1KB", "0x10", "9223372036854775808", "18446744073709551615");
  private static final List<String> SIGNED =
      List.of("0", "1", "-1", "10ms", "-500", "9223372036854775807", "-9223372036854775808");
  private static final List<String> REAL =
      List.of("0", "0.5", "-0.25", "1", "1.5KB", "100", "18446744073709551615");
  private static final List<String> TEXTS = List.of("", "GET", "POST", "get", "é", "a b");
  private static final List<String> ADDRESSES =
      List.of("10.0.0.1", "10.0.1.2", "192.168.1.1", "2001:db8::1", "2001:db8:1::2", "::");

  private final Random random;

  Generator(long seed) {
    random = new Random(seed);
  }

  <T> T one(List<T> values) {
    return values.get(random.nextInt(values.size()));
  }

  boolean chance(int bound) {
    return random.nextInt(bound) == 0;
  }

  /** Returns a value of the type, as written in a condition. */
  String word(Column.Type type) {
    return switch (type) {
      case U64 -> one(UNSIGNED);
      case I64 -> one(SIGNED);
      case F64 -> one(REAL);
      case BOOL -> one(List.of("true", "false", "1", "0"));
      case STRING -> one(TEXTS);
      default -> one(ADDRESSES);
    };
  }

  ConditionTree tree() {
    ConditionTree.Builder tree = ConditionTree.newBuilder();
    add(tree, 3);
    return tree.build();
  }

  private void add(ConditionTree.Builder tree, int depth) {
    int kind = depth == 0 ? 9 : random.nextInt(10);
    if (kind < 3) {
      int count = 1 + random.nextInt(3);
      for (int i = 0; i < count; i++) {
        add(tree, depth - 1);
      }
      tree.addNodes(kind == 0 ? Node.newBuilder().setAll(count) : Node.newBuilder().setAny(count));
    } else if (kind == 3) {
      add(tree, depth - 1);
      tree.addNodes(Node.newBuilder().setNot(ConditionTree.Not.getDefaultInstance()));
    } else {
      tree.addNodes(leaf());
    }
  }

  private Node.Builder leaf() {
    Node.Builder node = Node.newBuilder();
    String field = one(List.copyOf(FIELDS.keySet()));
    return switch (random.nextInt(12)) {
      case 0 -> node.setConstant(random.nextBoolean());
      case 1, 2 -> node.setPresent(field(field));
      case 3, 4, 5 -> node.setMembership(membership(field));
      case 6, 7 -> node.setComparison(sums());
      case 8 -> node.setComparison(pair(field));
      default -> node.setComparison(withLiteral(field));
    };
  }

  private static ConditionTree.Field.Builder field(String name) {
    return ConditionTree.Field.newBuilder().setName(name);
  }

  private Literal.Builder literal(Column.Type type) {
    String word = word(type);
    return type == Column.Type.STRING
        ? Literal.newBuilder().setText(ByteString.copyFromUtf8(word))
        : Literal.newBuilder().setWord(word);
  }

  private Order order(Column.Type type) {
    return type == Column.Type.STRING
        ? one(List.of(Order.EQUAL, Order.NOT_EQUAL))
        : Order.forNumber(random.nextInt(6));
  }

  private ConditionTree.Comparison.Builder withLiteral(String name) {
    Column.Type type = FIELDS.get(name);
    Order order = order(type);
    Term.Builder value = Term.newBuilder().setLiteral(literal(type));
    if (type == Column.Type.ADDRESS && order.getNumber() < 2 && chance(3)) {
      value.setLiteral(Literal.newBuilder().setWord(prefix()));
    }
    Term.Builder field = Term.newBuilder().setField(field(name));
    return chance(4) && (type != Column.Type.ADDRESS || !value.getLiteral().getWord().contains("/"))
        ? ConditionTree.Comparison.newBuilder().addLeft(value).setOrder(order).addRight(field)
        : ConditionTree.Comparison.newBuilder().addLeft(field).setOrder(order).addRight(value);
  }

  private String prefix() {
    return one(
        List.of("10.0.0.0/8", "10.0.0.0/24", "0.0.0.0/0", "2001:db8::/32", "::/0", "10.0.0.1/32"));
  }

  private ConditionTree.Membership.Builder membership(String name) {
    Column.Type type = FIELDS.get(name);
    ConditionTree.Membership.Builder membership =
        ConditionTree.Membership.newBuilder().setField(field(name));
    if (type == Column.Type.ADDRESS && chance(3)) {
      String pattern =
          one(
              List.of(
                  "10.*.*.1", "*.*.*.*", "192.168.1.*", "2001:db8:*:*:*:*:*:*", "*:*:*:*:*:*:*:1"));
      return membership.setPattern(Literal.newBuilder().setWord(pattern));
    }
    for (int i = random.nextInt(3); i >= 0; i--) {
      ConditionTree.Range.Builder range = ConditionTree.Range.newBuilder().setLow(literal(type));
      if (type == Column.Type.ADDRESS && chance(2)) {
        range.setLow(Literal.newBuilder().setWord(prefix()));
      } else if (chance(3)) {
        switch (type) {
          case U64 -> range.setLow(word("1")).setHigh(word(one(List.of("1", "500", "1MB"))));
          case I64 -> range.setLow(word("-500")).setHigh(word(one(List.of("-1", "0", "10ms"))));
          case F64 -> range.setLow(word("-0.25")).setHigh(word(one(List.of("0", "0.5", "100"))));
          case ADDRESS -> range.setLow(word("10.0.0.1")).setHigh(word("192.168.1.1"));
          default -> {
            // There are no ranges of strings or booleans.
          }
        }
      }
      membership.addRanges(range);
    }
    return membership;
  }

  private static Literal word(String word) {
    return Literal.newBuilder().setWord(word).build();
  }

  /** Returns a comparison of two fields of one type. */
  private ConditionTree.Comparison.Builder pair(String name) {
    Column.Type type = FIELDS.get(name);
    List<String> same =
        FIELDS.keySet().stream().filter(fieldName -> FIELDS.get(fieldName) == type).toList();
    return ConditionTree.Comparison.newBuilder()
        .addLeft(Term.newBuilder().setField(field(name)))
        .setOrder(order(type))
        .addRight(Term.newBuilder().setField(field(one(same))));
  }

  /** Returns a comparison of two sums of numbers, with a field on the left. */
  private ConditionTree.Comparison.Builder sums() {
    ConditionTree.Comparison.Builder sums =
        ConditionTree.Comparison.newBuilder().setOrder(Order.forNumber(random.nextInt(6)));
    sums.addLeft(Term.newBuilder().setField(field(numberField())).setNegative(chance(3)));
    for (int i = random.nextInt(2); i >= 0; i--) {
      sums.addLeft(term());
    }
    for (int i = random.nextInt(2); i >= 0; i--) {
      sums.addRight(term());
    }
    return sums;
  }

  private String numberField() {
    return one(List.of("count", "bytes", "offset_ns", "delta", "load", "ratio", "hit"));
  }

  private Term.Builder term() {
    Term.Builder term = Term.newBuilder().setNegative(chance(3));
    return chance(2)
        ? term.setField(field(numberField()))
        : term.setLiteral(literal(one(List.of(Column.Type.U64, Column.Type.F64))));
  }
}
