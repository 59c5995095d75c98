package io.tapline.flink.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.flink.Endpoints;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.support.Plans;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Tests rounds with a broker and a reader that the test controls. */
class ListeningTest {
  private final Broker broker = new Broker();
  private final Listening listening = new Listening(broker);
  private final PartitionState state =
      new PartitionState(QuerySpec.of(Plans.plan("q", 1, Plans.topK(3, "1s", "1s"))), 0, 10);

  /** A broker that answers when the test decides. */
  private static final class Broker extends TopicEnds {
    private Answer answer;
    private boolean asked = true;

    Broker() {
      super(Endpoints.open("", "nowhere:1"), "", Duration.ZERO);
    }

    @Override
    void start(Collection<Integer> partitions) {}

    @Override
    CompletableFuture<?> news() {
      return new CompletableFuture<>();
    }

    @Override
    Answer poll() {
      Answer taken = answer;
      answer = null;
      return taken;
    }

    @Override
    void next() {
      asked = true;
    }

    /**
     * Answers with end offsets, or fails if they are null. REQUIRES: there was a request since the
     * last response.
     */
    void answers(Map<Integer, Long> ends) {
      assertThat(asked).as("asked again").isTrue();
      asked = false;
      answer = new Answer(ends);
    }
  }

  @Test
  void aMonitorIsSilentAfterCompleteRoundsWithoutItsBatches() {
    state.readTo(100);
    for (int round = 1; round < Silence.ROUNDS; round++) {
      assertThat(round(100)).isEmpty();
    }
    assertThat(round(100)).containsExactly(state);
    assertThat(state.isSilent(0)).isTrue();
    assertThat(round(100)).as("no news").isEmpty();
    state.markActive("m0");
    assertThat(state.isSilent(0)).isFalse();
  }

  @Test
  void aRoundEndsOnlyWhenEverythingWasRead() {
    state.readTo(100);
    broker.answers(Map.of(0, 102L));
    for (int i = 0; i < 10 * Silence.ROUNDS; i++) {
      assertThat(listening.look(List.of(state))).isEmpty();
    }
    assertThat(broker.asked).isFalse();
    state.readTo(102);
    listening.look(List.of(state));
    assertThat(broker.asked).isTrue();
    assertThat(state.isSilent(0)).isFalse();
  }

  @Test
  void aSilentBrokerRestartsTheRounds() {
    for (int round = 1; round < Silence.ROUNDS; round++) {
      round(0);
    }
    broker.answers(null);
    assertThat(listening.look(List.of(state))).isEmpty();
    round(0);
    assertThat(state.isSilent(0)).isFalse();
  }

  @Test
  void aSilentMonitorIsAwaitedAgainWhenTheBrokerIsSilent() {
    for (int round = 0; round < Silence.ROUNDS; round++) {
      round(0);
    }
    assertThat(state.isSilent(0)).isTrue();
    broker.answers(null);
    assertThat(listening.look(List.of(state))).containsExactly(state);
    assertThat(state.isSilent(0)).isFalse();
  }

  private List<PartitionState> round(long end) {
    broker.answers(Map.of(0, end));
    return listening.look(List.of(state));
  }
}
