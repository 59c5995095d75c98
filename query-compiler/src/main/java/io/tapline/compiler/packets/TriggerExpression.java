package io.tapline.compiler.packets;

import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.ConditionStep.Operator;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Parses conditions on the packets or tuples of a window: {@code sum(retransmitted_bytes) /
 * sum(bytes) > 0.1 and count > 100}. Recursive descent, from the lowest precedence to the highest:
 * or, and, comparison, + and -, * and /. The functions themselves are not part of the language.
 */
public final class TriggerExpression {
  /** Limits that monitors and the stream job impose on conditions. */
  private static final int MAX_STEPS = 64;

  private static final int MAX_DEPTH = 8;
  private static final Pattern TOKEN =
      Pattern.compile(
          "\\s*(?:((?:[0-9][0-9.]*|\\.[0-9]+)[A-Za-z]*(?:/s\\b)?)|([pP][0-9]+\\.[0-9]+|[A-Za-z_]\\w*)|(>=|<=|&&|\\|\\||[-+*/()<>]))\\s*");
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
  private static final Set<String> LOGICAL = Set.of("and", "or");
  private static final Map<Operator, Operator> OPPOSITES =
      Map.of(
          Operator.OR, Operator.AND,
          Operator.AND, Operator.OR,
          Operator.GREATER, Operator.LESS_EQUAL,
          Operator.GREATER_EQUAL, Operator.LESS,
          Operator.LESS, Operator.GREATER_EQUAL,
          Operator.LESS_EQUAL, Operator.GREATER);

  /** Thrown if a text is not a valid condition. */
  public static final class Fault extends Exception {
    private static final long serialVersionUID = 1L;
    private final String expected;

    public Fault(String message, String expected) {
      super(message);
      this.expected = expected;
    }

    /** Returns a fault that was reported as an error of the query. */
    public static Fault reported() {
      return new Fault("", "");
    }

    boolean wasReported() {
      return getMessage().isEmpty();
    }

    String expected() {
      return expected;
    }
  }

  /** A value computed from a window: its steps in postfix order, and its unit. */
  public record Value(List<ConditionStep> steps, String unit) {}

  /** The functions that a condition can call. */
  @FunctionalInterface
  public interface Functions {
    /**
     * Returns the value of a function.
     *
     * @param name name in lower case
     * @param argument text between the parentheses; empty if there is none
     */
    Value value(String name, String argument) throws Fault;
  }

  /** Accepts any function, to check a condition's syntax before its parser is known. */
  private static final Functions ANY =
      (name, argument) -> new Value(List.of(ConditionStep.newBuilder().setOperand(0).build()), "");

  /** An operand: its steps, and either the unit of a value or {@code isTruth}. */
  private record Part(List<ConditionStep> steps, String unit, boolean isTruth) {}

  /**
   * A name, a number, an operator or a parenthesis.
   *
   * @param argument text in the parentheses after a name, or empty
   */
  private record Token(String text, String argument) {}

  private final List<Token> tokens;
  private final Functions functions;
  private List<ConditionStep> steps = List.of();
  private int at;
  private int nesting;
  private String comparedUnit;

  private TriggerExpression(List<Token> tokens, Functions functions) {
    this.tokens = tokens;
    this.functions = functions;
  }

  /** Returns true if a text is a condition, whatever its functions are. */
  public static boolean isCondition(String text) {
    return steps(text).isPresent();
  }

  /** Returns true if a text is a comparison of one function with a number. */
  public static boolean isSimple(String text) {
    return steps(text)
        .filter(steps -> steps.size() == 3)
        .filter(steps -> steps.get(0).hasOperand() && steps.get(1).hasConstant())
        .isPresent();
  }

  private static Optional<List<ConditionStep>> steps(String text) {
    try {
      return Optional.of(parse(text, ANY).steps());
    } catch (Fault e) {
      return Optional.empty();
    }
  }

  /**
   * Parses an argument of a trigger; reports an error and returns nothing if it is not a condition.
   *
   * @param argument name of the argument, such as when
   * @param functions functions that the condition may call; shared by a trigger's conditions
   */
  static Optional<TriggerExpression> read(
      String argument, Ast.Word word, Functions functions, Errors errors) {
    try {
      return Optional.of(parse(word.text(), functions));
    } catch (Fault fault) {
      if (!fault.wasReported()) {
        String message = argument + ": " + fault.getMessage();
        errors.add(word.span(), QueryError.Code.TYPE, message, fault.expected(), "");
      }
      return Optional.empty();
    }
  }

  private static TriggerExpression parse(String text, Functions functions) throws Fault {
    TriggerExpression expression = new TriggerExpression(tokens(text), functions);
    Part all = expression.level(0);
    if (expression.at < expression.tokens.size()) {
      throw new Fault(
          "%s is unexpected".formatted(Names.quoted(expression.tokens.get(expression.at).text())),
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

  List<ConditionStep> steps() {
    return steps;
  }

  /**
   * Returns the steps of the opposite condition. A comparison with an absent value is false, and so
   * is its opposite.
   */
  List<ConditionStep> negated() {
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

  static ConditionStep step(double constant) {
    return ConditionStep.newBuilder().setConstant(constant).build();
  }

  static ConditionStep step(Operator operator) {
    return ConditionStep.newBuilder().setOperator(operator).build();
  }

  /** Returns true if a condition is a single comparison with a number on its right. */
  static boolean comparesOneNumber(List<ConditionStep> steps) {
    long comparisons =
        steps.stream()
            .filter(ConditionStep::hasOperator)
            .filter(step -> LEVELS.get(COMPARISONS).containsValue(step.getOperator()))
            .count();
    return comparisons == 1
        && steps.size() >= COMPARISONS
        && steps.get(steps.size() - 2).hasConstant();
  }

  private static List<Token> tokens(String text) throws Fault {
    List<Token> tokens = new ArrayList<>();
    Matcher matcher = TOKEN.matcher(text);
    int end = 0;
    while (end < text.length()) {
      if (!matcher.find(end) || matcher.start() != end) {
        throw new Fault("%s is not a condition".formatted(Names.quoted(text)), EXAMPLE);
      }
      end = matcher.end();
      String name = matcher.group(2);
      boolean isFunction = name != null && !LOGICAL.contains(Names.lower(name));
      boolean isCall = isFunction && end < text.length() && text.charAt(end) == '(';
      int begin = isCall ? end + 1 : end;
      end = isCall ? closing(text, begin) + 1 : end;
      String argument = isCall ? text.substring(begin, end - 1).strip() : "";
      tokens.add(new Token(matcher.group().strip(), argument));
      while (isCall && end < text.length() && Character.isWhitespace(text.charAt(end))) {
        end++;
      }
    }
    return tokens;
  }

  /** Returns the position of the parenthesis that closes the one before {@code begin}. */
  private static int closing(String text, int begin) throws Fault {
    int open = 1;
    char quote = 0;
    for (int i = begin; i < text.length(); i++) {
      char c = text.charAt(i);
      if (quote != 0) {
        quote = c == quote ? 0 : quote;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else {
        open += c == '(' ? 1 : c == ')' ? -1 : 0;
      }
      if (open == 0) {
        return i;
      }
    }
    throw new Fault("a ) is missing", EXAMPLE);
  }

  private static int depth(List<ConditionStep> steps) {
    int depth = 0;
    int max = 0;
    for (ConditionStep step : steps) {
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
    while (at < tokens.size()
        && LEVELS.get(level).containsKey(Names.lower(tokens.get(at).text()))) {
      String token = tokens.get(at++).text();
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
    List<ConditionStep> joinedSteps = new ArrayList<>(left.steps());
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
    Token next = tokens.get(at++);
    String token = next.text();
    if (token.equals("(")) {
      if (++nesting > MAX_STEPS) {
        throw new Fault("it is nested too deeply", "at most %d levels".formatted(MAX_STEPS));
      }
      Part inside = level(0);
      nesting--;
      expect(")");
      return inside;
    }
    if (isNumber(token)) {
      return new Part(List.of(step(number(token))), "", false);
    } else if (token.equals("-") && at < tokens.size() && isNumber(tokens.get(at).text())) {
      return new Part(List.of(step(-number(tokens.get(at++).text()))), "", false);
    }
    if (!Character.isLetter(token.charAt(0))) {
      throw new Fault("%s is unexpected".formatted(Names.quoted(token)), "a value, " + EXAMPLE);
    }
    Value value = functions.value(Names.lower(token), next.argument());
    return new Part(value.steps(), value.unit(), false);
  }

  private static boolean isNumber(String token) {
    return Character.isDigit(token.charAt(0)) || token.startsWith(".");
  }

  private static double number(String token) throws Fault {
    return Literals.threshold(token)
        .orElseThrow(
            () ->
                new Fault(
                    "%s is not a number".formatted(Names.quoted(token)),
                    "a number, size or duration"));
  }

  private void expect(String token) throws Fault {
    if (at == tokens.size() || !tokens.get(at).text().equals(token)) {
      throw new Fault("a %s is missing".formatted(token), EXAMPLE);
    }
    at++;
  }
}
