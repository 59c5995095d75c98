package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.aggregates.Value;
import io.tapline.flink.ExpressionSpec.Outcome;
import io.tapline.flink.support.Plans;
import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.ConditionStep.Operator;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests conditions on several values of a group: {@code v0} is the first one. */
class ExpressionSpecTest {
  private static List<ConditionStep> steps(String text) {
    return Arrays.stream(text.split(" ")).map(ExpressionSpecTest::step).toList();
  }

  private static ConditionStep step(String word) {
    ConditionStep.Builder step = ConditionStep.newBuilder();
    if (word.startsWith("v")) {
      return step.setOperand(Integer.parseInt(word.substring(1))).build();
    }
    return Character.isDigit(word.charAt(0))
        ? step.setConstant(Double.parseDouble(word)).build()
        : step.setOperator(Operator.valueOf(word)).build();
  }

  private static ExpressionSpec expression(String text) {
    return ExpressionSpec.of(steps(text), 3, "trigger");
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      value = {
        // The values are 6, 4 and absent.
        "v0 5 GREATER | true | 6",
        "v0 6 GREATER | false | 6",
        "v0 6 GREATER_EQUAL | true | 6",
        "v0 v1 SUBTRACT 2 LESS_EQUAL | true | 2",
        "v0 v1 DIVIDE 1.5 GREATER_EQUAL | true | 1.5",
        "v0 v1 MULTIPLY v0 ADD 30 LESS | false | 30",
        "10 v0 GREATER | true | 10",
        "v0 5 GREATER v1 5 GREATER AND | false | 6",
        "v0 5 GREATER v1 5 GREATER OR | true | 6",
        "v0 7 GREATER v1 3 GREATER v1 9 LESS AND OR | true | 6",
        // Comparisons with an absent value are false.
        "v2 0 GREATER | false | NaN",
        "v2 0 LESS_EQUAL | false | NaN",
        "v0 v2 ADD 0 GREATER | false | NaN",
        "v0 v1 4 SUBTRACT DIVIDE 0 GREATER | false | NaN",
        "v0 v1 4 SUBTRACT DIVIDE 0 LESS_EQUAL | false | NaN",
        "v2 0 GREATER v0 5 GREATER OR | true | NaN",
      })
  void conditionsCombineValues(String text, boolean holds, Double compared) {
    Value[] values = {Value.whole(6), Value.whole(4), Value.NONE};
    Outcome outcome = expression(text).evaluate(values);
    assertThat(outcome.holds()).isEqualTo(holds);
    assertThat((Double) outcome.compared().number()).isEqualTo(compared);
  }

  @Test
  void aComparedValueKeepsItsExactNumberAndItsBounds() {
    Value[] values = {Value.whole(Long.MAX_VALUE), Value.real(4).within(3, 5), Value.NONE};
    assertThat(expression("v0 5 GREATER").evaluate(values).compared()).isEqualTo(values[0]);
    assertThat(expression("v1 5 LESS").evaluate(values).compared()).isEqualTo(values[1]);
  }

  /** The bounds of a sum or quotient of estimates are not computed, so none are shown. */
  @Test
  void aCalculatedValueHasBoundsOnlyIfItIsExact() {
    Value[] values = {Value.whole(6), Value.real(4).within(3, 5), Value.NONE};
    Value exact = expression("v0 v0 ADD 5 GREATER").evaluate(values).compared();
    assertThat(exact.low()).isEqualTo(12);
    Value estimate = expression("v0 v1 ADD 5 GREATER").evaluate(values).compared();
    assertThat(estimate.number()).isEqualTo(10);
    assertThat(estimate.low()).isNaN();
    assertThat(estimate.high()).isNaN();
  }

  @ParameterizedTest(name = "{0}: {1}")
  @CsvSource({
    "v0 5 GREATER, false",
    "v0 5 LESS, true",
    "5 v0 GREATER, true",
    "5 v0 LESS, false",
    "v0 5 GREATER v1 3 LESS_EQUAL AND, true",
    "v0 v1 ADD 5 GREATER v1 3 GREATER_EQUAL OR, false",
    "v0 v1 GREATER, true",
    "v0 v1 DIVIDE 5 GREATER, true",
    "v0 v1 SUBTRACT 5 GREATER, true",
    "10 v0 SUBTRACT 5 GREATER, true",
    "10 v0 SUBTRACT 5 LESS, false",
    "100 v0 DIVIDE 5 GREATER, true",
    "2 v0 MULTIPLY 5 GREATER, false"
  })
  void conditionsThatMissingTuplesCouldMeetWantAllOfThem(String text, boolean wantsAll) {
    assertThat(expression(text).wantsAll()).isEqualTo(wantsAll);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "v0, without a comparison",
    "v0 5 ADD, without a comparison",
    "v0 5 GREATER v1, without a comparison",
    "v3 5 GREATER, on an unknown value",
    "GREATER, with a misplaced operator",
    "v0 5 AND, with a misplaced operator",
    "v0 5 GREATER 3 ADD, with a misplaced operator"
  })
  void invalidConditionsAreRefused(String text, String fault) {
    assertThatThrownBy(() -> expression(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(fault);
  }

  @ParameterizedTest(name = "{1}")
  @CsvSource(
      delimiter = '|',
      value = {
        "'\"when\":[{\"operand\":0},{\"constant\":1},{\"operator\":\"GREATER\"}]' | has `when`, but no trigger",
        "'\"clear\":[{\"operand\":0},{\"constant\":1},{\"operator\":\"GREATER\"}]' | has `clear`, but no `when`",
        "'\"operands\":[{}]' | has operands, but no condition on them",
        "'\"operands\":[{},{},{},{}]' | has too many operands",
      })
  void plansWithMisplacedConditionsAreRefused(String member, String fault) {
    String processor = Plans.with(Plans.topK(3, "1s", "1s"), "," + member);
    assertThatThrownBy(() -> QuerySpec.of(Plans.plan("q", 1, processor)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(fault);
  }
}
