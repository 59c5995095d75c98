package io.tapline.control.query.sampling;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

class TopicHistoryTest {
  private static final Offset<Double> NEAR = Offset.offset(1e-9);

  @Test
  void timeIsWeightedByTheSamplingRate() {
    TopicHistory history = history();
    assertThat(history.fullSeconds(0, 10)).isCloseTo(1, NEAR);
    assertThat(history.fullSeconds(20, 30)).isCloseTo(0.55, NEAR);
    assertThat(history.fullSeconds(30, 40)).isCloseTo(0.1, NEAR);
    assertThat(history.fullSeconds(5, 25)).isCloseTo(0.5 + 1 + 0.275, NEAR);
  }

  @Test
  void unwrittenRecordsAreIgnored() {
    assertThat(history().fullSeconds(40, 50)).isZero();
    assertThat(history().fullSeconds(30, 20)).isZero();
    assertThat(new TopicHistory(1).fullSeconds(0, 10)).isZero();
  }

  @Test
  void unreadRecordsAreRemembered() {
    TopicHistory history = history();
    history.forgetBefore(15);
    assertThat(history.fullSeconds(15, 40)).isCloseTo(0.5 + 0.55 + 0.1, NEAR);
    history.forgetBefore(1_000);
    history.add(1, 50);
    assertThat(history.fullSeconds(40, 50)).isCloseTo(0.1, NEAR);
  }

  /** Returns the example from the class's Javadoc with one more second. */
  private static TopicHistory history() {
    TopicHistory history = new TopicHistory(1);
    double[] rates = {1, 0.1, 0.1, 0.1};
    for (int second = 0; second < rates.length; second++) {
      history.add(1, 10 * (second + 1));
      history.setRate(rates[second]);
    }
    return history;
  }
}
