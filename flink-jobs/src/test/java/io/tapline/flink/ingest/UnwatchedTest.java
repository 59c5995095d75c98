package io.tapline.flink.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.junit.jupiter.api.Test;

class UnwatchedTest {
  private final Unwatched unwatched = new Unwatched();

  @Test
  void aWindowThatBeginsWithTheWatchIsComplete() {
    unwatched.set(Long.MIN_VALUE, 10);
    assertThat(unwatched.overlaps(9, 12)).isTrue();
    assertThat(unwatched.overlaps(10, 12)).isFalse();
    assertThat(unwatched.interrupts(100)).as("the watch had not begun").isFalse();
  }

  @Test
  void aWindowThatEndsWithTheWatchIsComplete() {
    unwatched.set(20, 30);
    assertThat(unwatched.overlaps(10, 20)).isFalse();
    assertThat(unwatched.overlaps(10, 21)).isTrue();
    assertThat(unwatched.overlaps(25, 26)).isTrue();
    assertThat(unwatched.overlaps(30, 40)).isFalse();
    assertThat(unwatched.interrupts(20)).isFalse();
    assertThat(unwatched.interrupts(21)).isTrue();
  }

  @Test
  void dataOfASpanIsReplaced() {
    unwatched.set(20, Long.MAX_VALUE);
    assertThat(unwatched.overlaps(1000, 1001)).isTrue();
    unwatched.set(20, 30);
    assertThat(unwatched.overlaps(1000, 1001)).isFalse();
    unwatched.set(20, 15);
    assertThat(unwatched.overlaps(20, 30))
        .as("the next incarnation began before the previous one ended")
        .isFalse();
  }

  @Test
  void theLatestSpansStaySeparate() throws Exception {
    for (int i = 0; i < 1000; i++) {
      unwatched.set(10L * i, 10L * i + 5);
    }
    DataOutputSerializer out = new DataOutputSerializer(64);
    unwatched.write(out);
    assertThat(out.length()).isLessThan(2048);
    Unwatched restored = Unwatched.read(new DataInputDeserializer(out.getCopyOfBuffer()));
    for (Unwatched state : List.of(unwatched, restored)) {
      assertThat(state.overlaps(0, 1)).isTrue();
      for (int i = 950; i < 1000; i++) {
        assertThat(state.overlaps(10L * i, 10L * i + 1)).isTrue();
        assertThat(state.overlaps(10L * i + 5, 10L * i + 10)).isFalse();
      }
    }
  }
}
