package io.tapline.compiler.conditions;

import com.google.protobuf.ByteString;
import io.tapline.compiler.conditions.ConditionTokens.Kind;
import io.tapline.compiler.conditions.ConditionTokens.Token;
import io.tapline.compiler.text.Names;
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
 * Parses a condition to a tree by recursive descent; docs/reference/conditions.md has the grammar.
 * It does not resolve names or types. The compiler does so for conditions on tuples ({@code
 * ConditionTyper}), and MultiLog nodes for conditions on headers.
 *
 * <p>A name that is neither a field nor a constant such as {@code TCP} is parsed as the output of
 * an aggregate: {@code seq < SEQ}, {@code bytes > watch_1.SUM}.
 */
public final class ConditionParser {
  private static final int MAX_DEPTH = 100;
  private static final int MAX_TERMS = 16;
  private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_.]*");
  private static final Pattern DIGITS = Pattern.compile("[0-9]+");
  private static final Pattern LENGTH = Pattern.compile("/[0-9]+");
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

  private final Vocabulary vocabulary;
  private final List<Token> tokens;
  private final ConditionTree.Builder tree = ConditionTree.newBuilder();
  private int next = 0;
  private int depth = 0;
  private int leaves = 0;

  private ConditionParser(Vocabulary vocabulary, List<Token> tokens) {
    this.vocabulary = vocabulary;
    this.tokens = tokens;
  }

  /**
   * Parses a condition.
   *
   * @return the tree; it has no nodes if the text is blank
   * @throws ConditionSyntaxException if the text is not a condition
   */
  public static ConditionTree parse(String text, Vocabulary vocabulary)
      throws ConditionSyntaxException {
    ConditionParser parser = new ConditionParser(vocabulary, ConditionTokens.of(text));
    if (parser.peek().kind() != Kind.END) {
      parser.or();
    }
    if (parser.peek().kind() != Kind.END) {
      throw unexpected(parser.peek(), "AND or OR");
    }
    return parser.tree.build();
  }

  /** Parses a condition on rows with these fields. */
  public static ConditionTree parse(String text, Set<String> fields)
      throws ConditionSyntaxException {
    return parse(text, new Vocabulary.Known(fields));
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

  /**
   * Returns true if a token is this symbol or keyword. A keyword matches in any case, except that a
   * field with that name takes precedence over one that is not in lower case.
   */
  private boolean is(Token token, String symbol) {
    return switch (token.kind()) {
      case SYMBOL -> token.text().equals(symbol);
      case WORD ->
          token.text().equals(symbol)
              || token.text().equalsIgnoreCase(symbol) && !vocabulary.isField(token.text());
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

  private void expect(String symbol) throws ConditionSyntaxException {
    Token token = peek();
    if (!accept(symbol)) {
      throw unexpected(token, "'" + symbol + "'");
    }
  }

  private static ConditionSyntaxException unexpected(Token token, String expected) {
    String actual = token.kind() == Kind.END ? "end" : Names.quoted(token.text());
    return new ConditionSyntaxException(token, "unexpected " + actual, expected);
  }

  private void or() throws ConditionSyntaxException {
    int position = peek().at();
    int count = 0;
    do {
      and();
      count++;
    } while (accept("||") || accept("or"));
    if (count > 1) {
      tree.addNodes(Node.newBuilder().setAt(position).setAny(count));
    }
  }

  private void and() throws ConditionSyntaxException {
    int position = peek().at();
    int count = 0;
    do {
      unary();
      count++;
    } while (accept("&&") || accept("and"));
    if (count > 1) {
      tree.addNodes(Node.newBuilder().setAt(position).setAll(count));
    }
  }

  private void unary() throws ConditionSyntaxException {
    if (++depth > MAX_DEPTH) {
      throw new ConditionSyntaxException(
          peek().at(), "nested too deeply", "at most " + MAX_DEPTH + " levels");
    }
    int position = peek().at();
    if (accept("!") || accept("not")) {
      unary();
      addNot(position);
    } else if (accept("(")) {
      or();
      expect(")");
    } else if (is(peek(), "has") && is(peekBehind(), "(")) {
      has();
    } else if ((is(peek(), "true") || is(peek(), "false")) && !compares(peekBehind())) {
      tree.addNodes(Node.newBuilder().setAt(position).setConstant(is(take(), "true")));
    } else {
      comparison();
    }
    depth--;
  }

  private void addNot(int position) {
    tree.addNodes(Node.newBuilder().setAt(position).setNot(ConditionTree.Not.getDefaultInstance()));
  }

  private Node.Builder leaf(int position) throws ConditionSyntaxException {
    if (++leaves > Trees.MAX_LEAVES) {
      throw new ConditionSyntaxException(
          position, "more than " + Trees.MAX_LEAVES + " comparisons", "fewer");
    }
    return Node.newBuilder().setAt(position);
  }

  private void has() throws ConditionSyntaxException {
    int position = take().at();
    expect("(");
    Token field = joined(take());
    if (field.kind() != Kind.WORD || !vocabulary.isField(field.text())) {
      throw unknown(field.text(), field.at());
    }
    expect(")");
    tree.addNodes(leaf(position).setPresent(field(field)));
  }

  private static ConditionSyntaxException unknown(String field, int position) {
    return new ConditionSyntaxException(
        position, "unknown field " + Names.quoted(field), "a field");
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

  private void comparison() throws ConditionSyntaxException {
    int position = peek().at();
    List<Term> left = sum();
    boolean negated = is(peek(), "not") && isWordOperator(peekBehind());
    if (negated) {
      take();
    }
    Token operator = peek();
    Order order = operator.kind() == Kind.SYMBOL ? ORDERS.get(operator.text()) : null;
    if (isWordOperator(operator)) {
      membership(left, negated, position);
      return;
    } else if (order == null) {
      if (operator.kind() == Kind.END && left.size() == 1 && left.get(0).hasAggregate()) {
        ConditionTree.Aggregate name = left.get(0).getAggregate();
        throw unknown(name.getName(), name.getAt());
      }
      throw unexpected(operator, "a comparison");
    }
    take();
    if (is(peek(), "(") || is(peek(), "{")) {
      if (order != Order.EQUAL && order != Order.NOT_EQUAL) {
        String message = operator.text() + " takes one value";
        throw new ConditionSyntaxException(operator, message, "= or != before a list");
      }
      list(left, order == Order.NOT_EQUAL, position);
      return;
    }
    Comparison.Builder comparison =
        Comparison.newBuilder().addAllLeft(left).setOrder(order).addAllRight(sum());
    if (isConstant(left) && isConstant(comparison.getRightList())) {
      throw new ConditionSyntaxException(position, "this comparison contains no field", "a field");
    }
    tree.addNodes(leaf(position).setComparison(comparison));
  }

  private static boolean isConstant(List<Term> sum) {
    return sum.stream().allMatch(Term::hasLiteral);
  }

  private List<Term> sum() throws ConditionSyntaxException {
    List<Term> terms = new ArrayList<>();
    boolean isNegative = accept("-");
    while (true) {
      terms.add(term().setNegative(isNegative).build());
      if (terms.size() > MAX_TERMS) {
        throw new ConditionSyntaxException(
            peek().at(), "more than " + MAX_TERMS + " terms", "fewer");
      }
      if (accept("+")) {
        isNegative = false;
      } else if (accept("-")) {
        isNegative = true;
      } else {
        return terms;
      }
    }
  }

  private Term.Builder term() throws ConditionSyntaxException {
    Token token = joined(take());
    if (token.kind() == Kind.END || token.kind() == Kind.SYMBOL) {
      throw unexpected(token, "a field or a value");
    } else if (token.kind() == Kind.TEXT) {
      return Term.newBuilder().setLiteral(literal(token));
    } else if (vocabulary.isField(token.text())) {
      return Term.newBuilder().setField(withElement(field(token)));
    } else if (NAME.matcher(token.text()).matches() && !NUMBERS.contains(token.text())) {
      return Term.newBuilder()
          .setAggregate(
              ConditionTree.Aggregate.newBuilder().setName(token.text()).setAt(token.at()));
    }
    return Term.newBuilder().setLiteral(literal(token));
  }

  /**
   * Joins a word with the words that dashes attach to it, as in {@code tcp-flags}, and with a
   * prefix length even if spaces separate it, as in {@code 10.0.0.0 / 8}.
   */
  private Token joined(Token first) {
    Token word = first;
    while (word.kind() == Kind.WORD) {
      int parts = isDash(word) ? 2 : lengthParts(word);
      if (parts == 0) {
        break;
      }
      for (int i = 0; i < parts; i++) {
        Token part = take();
        word = new Token(Kind.WORD, word.text() + part.text(), word.at(), part.end());
      }
    }
    return word;
  }

  private boolean isDash(Token word) {
    return vocabulary.hasDashes()
        && is(peek(), "-")
        && peek().at() == word.end()
        && peekBehind().kind() == Kind.WORD
        && peekBehind().at() == peek().end();
  }

  /** Returns how many of the next tokens form a prefix length: "/ 8", "/8", or "8" after "/". */
  private int lengthParts(Token word) {
    if (peek().text().equals("/")) {
      return DIGITS.matcher(peekBehind().text()).matches() ? 2 : 0;
    }
    boolean follows = word.text().endsWith("/") && DIGITS.matcher(peek().text()).matches();
    return follows || LENGTH.matcher(peek().text()).matches() ? 1 : 0;
  }

  private Field.Builder withElement(Field.Builder field) throws ConditionSyntaxException {
    if (!accept("[")) {
      return field;
    }
    Token index = take();
    if (!index.text().matches("[0-9]{1,4}")) {
      throw unexpected(index, "the number of an element");
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

  private void membership(List<Term> left, boolean negated, int position)
      throws ConditionSyntaxException {
    Token operator = take();
    if (!isOneField(left)) {
      String message = Names.quoted(operator.text()) + " must follow a single field";
      throw new ConditionSyntaxException(position, message, "a field");
    }
    Membership.Builder membership =
        Membership.newBuilder()
            .setField(left.get(0).getField())
            .setAnyElement(is(operator, "contains"));
    if (is(operator, "like")) {
      Token pattern = take();
      if (pattern.kind() != Kind.WORD) {
        throw unexpected(pattern, "a pattern such as 192.*.*.1");
      }
      membership.setPattern(literal(pattern));
    } else {
      set(membership);
    }
    tree.addNodes(leaf(position).setMembership(membership));
    if (negated) {
      addNot(position);
    }
  }

  private void list(List<Term> left, boolean negated, int position)
      throws ConditionSyntaxException {
    if (!isOneField(left)) {
      throw new ConditionSyntaxException(
          position, "a list can only be compared with a single field", "a field");
    }
    Membership.Builder membership = Membership.newBuilder().setField(left.get(0).getField());
    set(membership);
    tree.addNodes(leaf(position).setMembership(membership));
    if (negated) {
      addNot(position);
    }
  }

  private static boolean isOneField(List<Term> sum) {
    return sum.size() == 1 && sum.get(0).hasField() && !sum.get(0).getNegative();
  }

  private void set(Membership.Builder membership) throws ConditionSyntaxException {
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
        throw new ConditionSyntaxException(
            peek().at(), "more than " + Trees.MAX_LEAVES + " values", "fewer");
      }
    } while (accept(","));
    expect(braces ? "}" : ")");
  }

  private Range.Builder range() throws ConditionSyntaxException {
    Range.Builder range = Range.newBuilder().setLow(value());
    return accept("..") ? range.setHigh(value()) : range;
  }

  private Literal.Builder value() throws ConditionSyntaxException {
    boolean isNegative = accept("-");
    Token token = joined(take());
    if (token.kind() == Kind.END
        || token.kind() == Kind.SYMBOL
        || isNegative && token.kind() == Kind.TEXT) {
      throw unexpected(token, "a value");
    }
    Literal.Builder literal = literal(token);
    return isNegative ? literal.setWord("-" + token.text()) : literal;
  }
}
