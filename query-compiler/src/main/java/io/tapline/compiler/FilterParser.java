package io.tapline.compiler;

import com.google.protobuf.ByteString;
import io.tapline.compiler.FilterTokens.Kind;
import io.tapline.compiler.FilterTokens.Token;
import io.tapline.conditions.Trees;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Comparison;
import io.tapline.schema.proto.ConditionTree.Field;
import io.tapline.schema.proto.ConditionTree.Literal;
import io.tapline.schema.proto.ConditionTree.Membership;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.ConditionTree.Range;
import io.tapline.schema.proto.ConditionTree.Term;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Parses a filter over headers to a tree, by recursive descent; conditions/expr/parser.h has the
 * grammar. Types are checked by the nodes, whose schema they are of.
 *
 * <p>A word that begins with a letter and is neither a field nor a number's name is taken for an
 * output of an aggregate: {@code seq < SEQ}, {@code bytes > watch_1.SUM}.
 */
public final class FilterParser {
  private static final int MAX_DEPTH = 100;
  private static final int MAX_TERMS = 16;
  private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_.]*");
  private static final Set<String> NUMBERS =
      Set.of("true", "false", "TCP", "tcp", "UDP", "udp", "ICMP", "icmp");
  private static final Map<String, Order> ORDERS =
      Map.of(
          "=", Order.EQUAL,
          "==", Order.EQUAL,
          "!=", Order.NOT_EQUAL,
          "<", Order.LESS,
          "<=", Order.LESS_OR_EQUAL,
          ">", Order.GREATER,
          ">=", Order.GREATER_OR_EQUAL);

  private final Set<String> fields;
  private final List<Token> tokens;
  private final ConditionTree.Builder tree = ConditionTree.newBuilder();
  private int next = 0;
  private int depth = 0;
  private int leaves = 0;

  private FilterParser(Set<String> fields, List<Token> tokens) {
    this.fields = fields;
    this.tokens = tokens;
  }

  /**
   * Parses a filter.
   *
   * @param fields names of the headers' fields
   * @return a tree without nodes for a blank text
   * @throws FilterException if the text is no filter
   */
  public static ConditionTree parse(String text, Set<String> fields) throws FilterException {
    FilterParser parser = new FilterParser(fields, FilterTokens.of(text));
    if (parser.peek().kind() != Kind.END) {
      parser.or();
    }
    Token rest = parser.peek();
    if (rest.kind() != Kind.END) {
      throw new FilterException(rest.at(), "unexpected " + Names.quoted(rest.text()));
    }
    return parser.tree.build();
  }

  private Token peek() {
    return tokens.get(next);
  }

  private Token peekBehind() {
    return tokens.get(Math.min(next + 1, tokens.size() - 1));
  }

  private Token take() {
    Token token = peek();
    next += token.kind() == Kind.END ? 0 : 1;
    return token;
  }

  /** Keywords have any case, unless there is a field of that name. */
  private boolean is(Token token, String symbol) {
    return switch (token.kind()) {
      case SYMBOL -> token.text().equals(symbol);
      case WORD ->
          token.text().equals(symbol)
              || token.text().equalsIgnoreCase(symbol) && !fields.contains(token.text());
      default -> false;
    };
  }

  private boolean accept(String symbol) {
    boolean accepted = is(peek(), symbol);
    if (accepted) {
      take();
    }
    return accepted;
  }

  private void expect(String symbol) throws FilterException {
    Token token = peek();
    if (!accept(symbol)) {
      throw expected("'" + symbol + "'", token);
    }
  }

  private static FilterException expected(String what, Token token) {
    String found =
        token.kind() == Kind.END ? " before the end" : " instead of " + Names.quoted(token.text());
    return new FilterException(token.at(), "expected " + what + found);
  }

  private void or() throws FilterException {
    int at = peek().at();
    int count = 0;
    do {
      and();
      count++;
    } while (accept("||") || accept("or"));
    if (count > 1) {
      tree.addNodes(Node.newBuilder().setAt(at).setAny(count));
    }
  }

  private void and() throws FilterException {
    int at = peek().at();
    int count = 0;
    do {
      unary();
      count++;
    } while (accept("&&") || accept("and"));
    if (count > 1) {
      tree.addNodes(Node.newBuilder().setAt(at).setAll(count));
    }
  }

  private void unary() throws FilterException {
    if (++depth > MAX_DEPTH) {
      throw new FilterException(peek().at(), "nested too deeply");
    }
    int at = peek().at();
    if (accept("!") || accept("not")) {
      unary();
      addNot(at);
    } else if (accept("(")) {
      or();
      expect(")");
    } else if (is(peek(), "has") && is(peekBehind(), "(")) {
      has();
    } else if ((is(peek(), "true") || is(peek(), "false")) && !compares(peekBehind())) {
      tree.addNodes(Node.newBuilder().setAt(at).setConstant(is(take(), "true")));
    } else {
      comparison();
    }
    depth--;
  }

  private void addNot(int at) {
    tree.addNodes(Node.newBuilder().setAt(at).setNot(ConditionTree.Not.getDefaultInstance()));
  }

  private Node.Builder leaf(int at) throws FilterException {
    if (++leaves > Trees.MAX_LEAVES) {
      throw new FilterException(at, "more than " + Trees.MAX_LEAVES + " comparisons");
    }
    return Node.newBuilder().setAt(at);
  }

  private void has() throws FilterException {
    int at = take().at();
    expect("(");
    Token field = take();
    if (field.kind() != Kind.WORD || !fields.contains(field.text())) {
      throw unknown(field);
    }
    expect(")");
    tree.addNodes(leaf(at).setPresent(field(field)));
  }

  private static FilterException unknown(Token field) {
    return new FilterException(field.at(), "unknown field " + Names.quoted(field.text()));
  }

  private static Field.Builder field(Token token) {
    return Field.newBuilder().setName(token.text()).setAt(token.at());
  }

  private static boolean compares(Token token) {
    return token.kind() == Kind.SYMBOL
        && (ORDERS.containsKey(token.text())
            || token.text().equals("+")
            || token.text().equals("-"));
  }

  private boolean isWordOperator(Token token) {
    return token.kind() == Kind.WORD
        && (is(token, "in") || is(token, "like") || is(token, "contains"));
  }

  private void comparison() throws FilterException {
    int at = peek().at();
    List<Term> left = sum();
    boolean negated = is(peek(), "not") && isWordOperator(peekBehind());
    if (negated) {
      take();
    }
    Token operator = peek();
    Order order = operator.kind() == Kind.SYMBOL ? ORDERS.get(operator.text()) : null;
    if (isWordOperator(operator)) {
      membership(left, negated, at);
      return;
    } else if (order == null) {
      if (operator.kind() == Kind.END && left.size() == 1 && left.get(0).hasAggregate()) {
        ConditionTree.Aggregate name = left.get(0).getAggregate();
        throw unknown(new Token(Kind.WORD, name.getName(), name.getAt()));
      }
      throw expected("a comparison", operator);
    }
    take();
    if (is(peek(), "(") || is(peek(), "{")) {
      if (order != Order.EQUAL && order != Order.NOT_EQUAL) {
        String message = "'" + operator.text() + "' takes one value; give = or != before a list";
        throw new FilterException(operator.at(), message);
      }
      list(left, order == Order.NOT_EQUAL, at);
      return;
    }
    Comparison.Builder comparison =
        Comparison.newBuilder().addAllLeft(left).setOrder(order).addAllRight(sum());
    tree.addNodes(leaf(at).setComparison(comparison));
  }

  private List<Term> sum() throws FilterException {
    List<Term> terms = new ArrayList<>();
    boolean negative = accept("-");
    while (true) {
      terms.add(term().setNegative(negative).build());
      if (terms.size() > MAX_TERMS) {
        throw new FilterException(peek().at(), "more than " + MAX_TERMS + " terms");
      }
      if (accept("+")) {
        negative = false;
      } else if (accept("-")) {
        negative = true;
      } else {
        return terms;
      }
    }
  }

  private Term.Builder term() throws FilterException {
    Token token = take();
    if (token.kind() == Kind.END || token.kind() == Kind.SYMBOL) {
      throw expected("a field or a value", token);
    } else if (token.kind() == Kind.TEXT) {
      return Term.newBuilder().setLiteral(literal(token));
    } else if (fields.contains(token.text())) {
      return Term.newBuilder().setField(withElement(field(token)));
    } else if (NAME.matcher(token.text()).matches() && !NUMBERS.contains(token.text())) {
      return Term.newBuilder()
          .setAggregate(
              ConditionTree.Aggregate.newBuilder().setName(token.text()).setAt(token.at()));
    }
    return Term.newBuilder().setLiteral(literal(token));
  }

  private Field.Builder withElement(Field.Builder field) throws FilterException {
    if (!accept("[")) {
      return field;
    }
    Token index = take();
    if (!index.text().matches("[0-9]{1,4}")) {
      throw expected("the number of an element", index);
    }
    expect("]");
    return field.setElement(Integer.parseInt(index.text()));
  }

  private static Literal.Builder literal(Token token) {
    Literal.Builder literal = Literal.newBuilder().setAt(token.at());
    return token.kind() == Kind.TEXT
        ? literal.setText(ByteString.copyFromUtf8(token.text()))
        : literal.setWord(token.text());
  }

  private void membership(List<Term> left, boolean negated, int at) throws FilterException {
    Token operator = take();
    if (!isOneField(left)) {
      String message = Names.quoted(operator.text()) + " wants a single field before it";
      throw new FilterException(at, message);
    }
    Membership.Builder membership =
        Membership.newBuilder()
            .setField(left.get(0).getField())
            .setAnyElement(is(operator, "contains"));
    if (is(operator, "like")) {
      Token pattern = take();
      if (pattern.kind() != Kind.WORD) {
        throw expected("a pattern such as 192.*.*.1", pattern);
      }
      membership.setPattern(literal(pattern));
    } else {
      set(membership);
    }
    tree.addNodes(leaf(at).setMembership(membership));
    if (negated) {
      addNot(at);
    }
  }

  private void list(List<Term> left, boolean negated, int at) throws FilterException {
    if (!isOneField(left)) {
      throw new FilterException(at, "a list is compared with a single field");
    }
    Membership.Builder membership = Membership.newBuilder().setField(left.get(0).getField());
    set(membership);
    tree.addNodes(leaf(at).setMembership(membership));
    if (negated) {
      addNot(at);
    }
  }

  private static boolean isOneField(List<Term> sum) {
    return sum.size() == 1 && sum.get(0).hasField() && !sum.get(0).getNegative();
  }

  private void set(Membership.Builder membership) throws FilterException {
    if (accept("[")) {
      Range.Builder range = Range.newBuilder().setLow(value());
      expect(",");
      membership.addRanges(range.setHigh(value()));
      expect("]");
      return;
    }
    boolean braces = accept("{");
    if (!braces && !accept("(")) {
      membership.addRanges(range());
      return;
    }
    do {
      membership.addRanges(range());
      if (membership.getRangesCount() > Trees.MAX_LEAVES) {
        throw new FilterException(peek().at(), "more than " + Trees.MAX_LEAVES + " values");
      }
    } while (accept(","));
    expect(braces ? "}" : ")");
  }

  private Range.Builder range() throws FilterException {
    Range.Builder range = Range.newBuilder().setLow(value());
    return accept("..") ? range.setHigh(value()) : range;
  }

  private Literal.Builder value() throws FilterException {
    boolean negative = accept("-");
    Token token = take();
    if (token.kind() == Kind.END
        || token.kind() == Kind.SYMBOL
        || negative && token.kind() == Kind.TEXT) {
      throw expected("a value", token);
    }
    Literal.Builder literal = literal(token);
    return negative ? literal.setWord("-" + token.text()) : literal;
  }
}
