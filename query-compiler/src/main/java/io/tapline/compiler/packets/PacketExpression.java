package io.tapline.compiler.packets;

import static io.tapline.compiler.packets.PacketCondition.step;

import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import io.tapline.schema.proto.PacketStep;
import io.tapline.schema.proto.PacketStep.Operator;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Parses conditions on the packets of a window: {@code sum(retransmitted_bytes) / sum(bytes) > 0.1
 * and count > 100}. Recursive descent, from the lowest precedence to the highest: or, and,
 * comparison, + and -, * and /.
 */
final class PacketExpression {
  /** Limits that monitors impose on conditions. */
  private static final int MAX_STEPS = 64;

  private static final int MAX_DEPTH = 8;
  private static final Pattern TOKEN =
      Pattern.compile(
          "\\s*(?:([0-9][0-9.]*[A-Za-z]*(?:/s\\b)?)|([pP][0-9]+\\.[0-9]+|[A-Za-z_][\\w-]*)|(>=|<=|&&|\\|\\||[-+*/()<>,]))\\s*");
  private static final String EXAMPLE =
      "for example \"sum(retransmitted_bytes) / sum(bytes) > 0.1 and count > 100\"";
  private static final List<Map<String, Operator>> LEVELS =
      List.of(
          Map.of("or", Operator.OR, "||", Operator.OR),
          Map.of("and", Operator.AND, "&&", Operator.AND),
          Map.of(
              ">", Operator.GREATER,
              ">=", Operator.GREATER_EQUAL,
              "<", Operator.LESS,
              "<=", Operator.LESS_EQUAL),
          Map.of("+", Operator.ADD, "-", Operator.SUBTRACT),
          Map.of("*", Operator.MULTIPLY, "/", Operator.DIVIDE));
  private static final int COMPARISONS = 2;
  private static final Map<Operator, Operator> OPPOSITES =
      Map.of(
          Operator.OR, Operator.AND,
          Operator.AND, Operator.OR,
          Operator.GREATER, Operator.LESS_EQUAL,
          Operator.GREATER_EQUAL, Operator.LESS,
          Operator.LESS, Operator.GREATER_EQUAL,
          Operator.LESS_EQUAL, Operator.GREATER);

  /** Thrown if a text is not a valid condition on packets. */
  static final class Fault extends Exception {
    private static final long serialVersionUID = 1L;
    private final String expected;

    Fault(String message, String expected) {
      super(message);
      this.expected = expected;
    }

    String expected() {
      return expected;
    }
  }

  /** An operand: its steps, and either the unit of a value or {@code isTruth}. */
  private record Part(List<PacketStep> steps, String unit, boolean isTruth) {}

  private final List<String> tokens;
  private final PacketMeasures measures;
  private List<PacketStep> steps = List.of();
  private int at;
  private int nesting;
  private String comparedUnit;

  private PacketExpression(List<String> tokens, PacketMeasures measures) {
    this.tokens = tokens;
    this.measures = measures;
  }

  /**
   * Parses a condition.
   *
   * @param measures values that the condition may compare; shared by a trigger's conditions
   */
  static PacketExpression parse(String text, PacketMeasures measures) throws Fault {
    PacketExpression expression = new PacketExpression(tokens(text), measures);
    Part all = expression.level(0);
    if (expression.at < expression.tokens.size()) {
      throw new Fault(
          "%s is unexpected".formatted(Names.quoted(expression.tokens.get(expression.at))),
          "an operator or the end");
    } else if (!all.isTruth()) {
      throw new Fault("it contains no comparison", "a comparison, " + EXAMPLE);
    } else if (all.steps().size() > MAX_STEPS || depth(all.steps()) > MAX_DEPTH) {
      throw new Fault(
          "it has %d terms and operators, %d deep"
              .formatted(all.steps().size(), depth(all.steps())),
          "at most %d, and %d deep".formatted(MAX_STEPS, MAX_DEPTH));
    }
    expression.steps = all.steps();
    return expression;
  }

  List<PacketStep> steps() {
    return steps;
  }

  /**
   * Returns the steps of the opposite condition. A comparison with an absent value is false, and so
   * is its opposite.
   */
  List<PacketStep> negated() {
    return steps.stream()
        .map(
            step ->
                step.hasOperator()
                    ? step(OPPOSITES.getOrDefault(step.getOperator(), step.getOperator()))
                    : step)
        .toList();
  }

  /** Returns the unit of the left side of the first comparison. */
  String unit() {
    return comparedUnit;
  }

  /** Returns true if a condition is a single comparison with a number on its right. */
  static boolean comparesOneNumber(List<PacketStep> steps) {
    long comparisons =
        steps.stream()
            .filter(PacketStep::hasOperator)
            .filter(step -> LEVELS.get(COMPARISONS).containsValue(step.getOperator()))
            .count();
    return comparisons == 1
        && steps.size() >= COMPARISONS
        && steps.get(steps.size() - 2).hasConstant();
  }

  private static List<String> tokens(String text) throws Fault {
    List<String> tokens = new ArrayList<>();
    Matcher matcher = TOKEN.matcher(text);
    int end = 0;
    while (end < text.length()) {
      if (!matcher.find(end) || matcher.start() != end) {
        throw new Fault("%s is not a condition".formatted(Names.quoted(text)), EXAMPLE);
      }
      tokens.add(matcher.group().strip());
      end = matcher.end();
    }
    return tokens;
  }

  private static int depth(List<PacketStep> steps) {
    int depth = 0;
    int max = 0;
    for (PacketStep step : steps) {
      depth += step.hasOperator() ? -1 : 1;
      max = Math.max(max, depth);
    }
    return max;
  }

  private Part level(int level) throws Fault {
    if (level == LEVELS.size()) {
      return operand();
    }
    Part left = level(level + 1);
    while (at < tokens.size() && LEVELS.get(level).containsKey(Names.lower(tokens.get(at)))) {
      String token = tokens.get(at++);
      left =
          combined(level, LEVELS.get(level).get(Names.lower(token)), token, left, level(level + 1));
    }
    return left;
  }

  private Part combined(int level, Operator operator, String token, Part left, Part right)
      throws Fault {
    boolean isLogical = level < COMPARISONS;
    if (left.isTruth() != isLogical || right.isTruth() != isLogical) {
      throw new Fault(
          "%s needs %s on both sides".formatted(token, isLogical ? "comparisons" : "values"),
          isLogical ? "a comparison on both sides" : "a value on both sides");
    }
    List<PacketStep> joinedSteps = new ArrayList<>(left.steps());
    joinedSteps.addAll(right.steps());
    joinedSteps.add(step(operator));
    if (level == COMPARISONS && comparedUnit == null) {
      comparedUnit = left.unit();
    }
    return new Part(joinedSteps, unit(operator, left.unit(), right.unit()), level <= COMPARISONS);
  }

  private static String unit(Operator operator, String left, String right) {
    return switch (operator) {
      case DIVIDE -> right.isEmpty() ? left : "";
      case MULTIPLY -> left.isEmpty() ? right : right.isEmpty() ? left : "";
      default -> left.equals(right) ? left : "";
    };
  }

  private Part operand() throws Fault {
    if (at == tokens.size()) {
      throw new Fault("it is incomplete", "a value, " + EXAMPLE);
    }
    String token = tokens.get(at++);
    if (token.equals("(")) {
      if (++nesting > MAX_STEPS) {
        throw new Fault("it is nested too deeply", "at most %d levels".formatted(MAX_STEPS));
      }
      Part inside = level(0);
      nesting--;
      expect(")");
      return inside;
    }
    if (Character.isDigit(token.charAt(0))) {
      Optional<Double> number = Literals.threshold(token);
      if (number.isEmpty()) {
        throw new Fault(
            "%s is not a number".formatted(Names.quoted(token)), "a number, size or duration");
      }
      return new Part(List.of(step(number.get())), "", false);
    }
    if (!Character.isLetter(token.charAt(0))) {
      throw new Fault("%s is unexpected".formatted(Names.quoted(token)), "a value, " + EXAMPLE);
    }
    return call(token);
  }

  private Part call(String function) throws Fault {
    String field = "";
    Optional<Long> span = Optional.empty();
    if (at < tokens.size() && tokens.get(at).equals("(")) {
      at++;
      field = at < tokens.size() ? tokens.get(at++) : "";
      if (at < tokens.size() && tokens.get(at).equals(",")) {
        at++;
        String text = at < tokens.size() ? tokens.get(at++) : "";
        span = Literals.durationNs(text).map(BigDecimal::longValue);
        if (span.isEmpty()) {
          throw new Fault("%s is not a duration".formatted(Names.quoted(text)), "such as 100us");
        }
      }
      expect(")");
    }
    PacketMeasures.Value value = measures.value(Names.lower(function), Names.normal(field), span);
    return new Part(value.steps(), value.unit(), false);
  }

  private void expect(String token) throws Fault {
    if (at == tokens.size() || !tokens.get(at).equals(token)) {
      throw new Fault("a %s is missing".formatted(token), EXAMPLE);
    }
    at++;
  }
}
