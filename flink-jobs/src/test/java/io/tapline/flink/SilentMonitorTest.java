package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.flink.ingest.Pipeline;
import io.tapline.flink.support.MonitorStream;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.Tuple;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests one-second windows over two monitors. The second monitor falls silent after 3 s. */
class SilentMonitorTest {
  private static final long SECOND = 1_000_000_000L;

  /** More rounds than the number after which a monitor is silent. */
  private static final int ROUNDS = 10;

  private final MonitorStream active = new MonitorStream("q", "m0", 0, 1);
  private final MonitorStream silenced = new MonitorStream("q", "m1", 0, 1);
  private Pipeline pipeline;

  @BeforeEach
  void bothSend() throws Exception {
    pipeline =
        new Pipeline(
            Plans.plan("q", 2, Plans.topK(3, "1s", "1s")),
            JobOptions.defaults().withParallelism(2));
    for (int second = 1; second <= 3; second++) {
      send(0, active, second);
      send(1, silenced, second);
    }
    send(0, active, 4);
    send(0, active, 5);
    assertThat(ends()).as("the job waits for the last monitor").containsExactly(1L, 2L, 3L);
  }

  @AfterEach
  void close() throws Exception {
    pipeline.close();
  }

  @Test
  void windowsContinueWithoutASilentMonitorAndNameIt() throws Exception {
    pipeline.listen(0, ROUNDS - 1, true);
    send(0, active, 6);
    assertThat(ends())
        .as("no round of the second monitor's partition has ended")
        .containsExactly(1L, 2L, 3L);
    pipeline.listen(1, ROUNDS, true);
    assertThat(ends()).containsExactly(1L, 2L, 3L, 4L, 5L, 6L);
    assertThat(silent()).containsExactly("", "", "", "[\"m1\"]", "[\"m1\"]", "[\"m1\"]");
  }

  @Test
  void aMonitorIsNotSilentAfterAFewRoundsOrWhileTheBrokerIsSilent() throws Exception {
    for (int i = 0; i < ROUNDS; i++) {
      pipeline.listen(1, 4, true);
      pipeline.listen(1, 1, false);
    }
    assertThat(ends()).containsExactly(1L, 2L, 3L);
  }

  @Test
  void earlierBatchesAreLateAndLaterWindowsWaitAgain() throws Exception {
    pipeline.listen(1, ROUNDS, true);
    assertThat(ends()).endsWith(5L);
    send(0, active, 7);
    assertThat(ends()).endsWith(7L);
    send(1, silenced, 4);
    send(0, active, 9);
    assertThat(ends()).as("the second monitor has not sent the eighth second").endsWith(7L);
    send(1, silenced, 8);
    assertThat(ends()).endsWith(8L);
    assertThat(silent()).endsWith("[\"m1\"]", "");
    JsonNode eighth = windows().get(windows().size() - 1);
    assertThat(eighth.at("/completeness/late").asLong())
        .as("rows of the fourth second")
        .isEqualTo(1);
    assertThat(eighth.at("/rows/0/exemplars/0/monitor").asText()).isEqualTo("m1");
  }

  @Test
  void ifAllAreSilentWindowsWaitForAll() throws Exception {
    pipeline.listen(0, ROUNDS, true);
    pipeline.listen(1, ROUNDS, true);
    assertThat(ends()).as("the first monitor was silent, too").containsExactly(1L, 2L, 3L);
    send(0, active, 6);
    assertThat(ends()).endsWith(6L);
  }

  @Test
  void windowsDoNotWaitForAMonitorThatNeverReported() throws Exception {
    try (Pipeline otherPipeline =
        new Pipeline(Plans.plan("q", 2, Plans.topK(3, "1s", "1s")), JobOptions.defaults())) {
      MonitorStream monitorStream = new MonitorStream("q", "m0", 0, 1);
      otherPipeline.feed(0, monitorStream.batch(2 * SECOND, List.of(get(1))).toByteArray());
      otherPipeline.listen(1, ROUNDS, true);
      assertThat(otherPipeline.windows(0)).hasSize(1);
      assertThat(otherPipeline.windows(0).get(0).at("/completeness/silent").toString())
          .isEqualTo("[\"m1\"]");
    }
  }

  @Test
  void afterARestartTheStreamResumesWithoutRepeatedWindows() throws Exception {
    pipeline.listen(1, ROUNDS, true);
    send(0, active, 7);
    pipeline.restart(1);
    send(0, active, 9);
    assertThat(ends()).containsExactly(1L, 2L, 3L, 4L, 5L, 7L);
    pipeline.listen(1, ROUNDS, true);
    assertThat(ends()).containsExactly(1L, 2L, 3L, 4L, 5L, 7L, 9L);
  }

  @Test
  void theStreamEndsWithoutASilentMonitor() throws Exception {
    pipeline.listen(1, ROUNDS, true);
    pipeline.feed(0, active.batch(6 * SECOND, List.of(get(5))).toByteArray());
    pipeline.feed(0, active.end(6 * SECOND + 1).toByteArray());
    assertThat(ends()).endsWith(5L, 6L);
    assertThat(pipeline.ended(1)).isFalse();
  }

  /** Sends a batch with one request, from the second that ends at time {@code second}. */
  private void send(int partition, MonitorStream monitor, int second) throws Exception {
    pipeline.feed(
        partition, monitor.batch(second * SECOND, List.of(get(second - 1))).toByteArray());
  }

  private static Tuple get(int second) {
    return Tuple.http(second * SECOND + 5, second, "/a", 1);
  }

  private List<JsonNode> windows() {
    return pipeline.windows(0);
  }

  private List<Long> ends() {
    return windows().stream().map(window -> window.get("end").asLong() / SECOND).toList();
  }

  private List<String> silent() {
    List<String> silent = new ArrayList<>();
    windows().forEach(window -> silent.add(window.at("/completeness/silent").toString()));
    return silent;
  }
}
