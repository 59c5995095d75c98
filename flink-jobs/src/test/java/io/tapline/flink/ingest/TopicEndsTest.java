package io.tapline.flink.ingest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.flink.Endpoints;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Tests brokers that do not answer; brokers that do are tested together with windows and monitors.
 */
class TopicEndsTest {
  private static TopicEnds of(String brokers) {
    return new TopicEnds(Endpoints.open(brokers, "nowhere:1"), "tuples", Duration.ofMillis(1));
  }

  @Test
  void unresolvableAddressesFailTheReader() throws Exception {
    try (TopicEnds ends = of("broker.invalid:9092")) {
      ends.start(List.of(0));
      // The reader sleeps until this future completes, so it must complete without an exception.
      ends.news().get(60, TimeUnit.SECONDS);
      for (int i = 0; i < 2; i++) {
        assertThatThrownBy(ends::poll)
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContainingAll("broker.invalid:9092", "tuples", "bootstrap");
      }
    }
  }

  @Test
  void anErrorFailsTheReader() throws Exception {
    try (TopicEnds ends = of("127.0.0.1:1")) {
      ends.start(Collections.singletonList(null));
      ends.news().get(60, TimeUnit.SECONDS);
      assertThatThrownBy(ends::poll).hasRootCauseInstanceOf(NullPointerException.class);
    }
  }

  /**
   * Tests a broker that is down: windows wait for it. Only a client that can't be created is a
   * failure.
   */
  @Test
  void anUnreachableBrokerIsNotAFailure() throws Exception {
    try (TopicEnds ends = of("127.0.0.1:1")) {
      ends.start(List.of(0));
      ends.news().get(60, TimeUnit.SECONDS);
      assertThat(ends.poll().ends()).isNull();
      assertThat(ends.poll()).isNull();
    }
  }
}
