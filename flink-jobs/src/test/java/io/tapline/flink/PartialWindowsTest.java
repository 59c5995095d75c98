package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.flink.ingest.Pipeline;
import io.tapline.flink.support.MonitorStream;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.Tuple;
import io.tapline.schema.proto.TupleBatch;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a window is partial if and only if some part of it was not watched. */
class PartialWindowsTest {
  private static final long SECOND = 1_000_000_000L;
  private static final String TRIGGER =
      """
      ,"condition":{"comparison":"%s","threshold":5},
       "trigger":{"clear":5,"after":1,"severity":"info"}""";

  private final MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theFirstWindowIsPartialUnlessTheWatchBeginsWithIt(boolean aligned) throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      monitor.watchedSince(aligned ? 10 * SECOND : 10 * SECOND + 1);
      seconds(pipeline, monitor, 10, 13);
      assertThat(windows(pipeline)).isEqualTo(aligned ? "11 12 13" : "11p 12 13");
    }
  }

  @Test
  void slidingWindowsArePartialUntilTheyAreFull() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "5s", "1s"))) {
      monitor.watchedSince(10 * SECOND);
      seconds(pipeline, monitor, 10, 13);
      pipeline.restart(2);
      seconds(pipeline, monitor, 13, 17);
      feed(pipeline, monitor.end(17 * SECOND + 1));
      assertThat(windows(pipeline)).isEqualTo("11p 12p 13p 14p 15 16 17 18p 19p 20p 21p");
    }
  }

  /** Tests that later windows are omitted: all ten would contain the same three seconds. */
  @Test
  void aWindowLongerThanTheWatchIsWrittenOnce() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "100s", "10s"))) {
      monitor.watchedSince(10 * SECOND);
      seconds(pipeline, monitor, 10, 13);
      pipeline.restart(2);
      feed(pipeline, monitor.end(13 * SECOND + 1));
      assertThat(windows(pipeline)).isEqualTo("20p");
    }
  }

  /** Tests two groups in different buckets, which have separate panes. */
  @Test
  void aWindowThatLosesOneOfItsGroupsIsWritten() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "20s", "5s"))) {
      monitor.watchedSince(10 * SECOND);
      feed(pipeline, monitor.batch(11 * SECOND, List.of(get(10))));
      feed(pipeline, monitor.batch(17 * SECOND, List.of(Tuple.http(16 * SECOND, 2, "/b", 0))));
      feed(pipeline, monitor.end(17 * SECOND + 1));
      // The window that ends at 15 s contains the first group, and the one that ends at 20 s
      // contains both. The windows that end at 25 and 30 s repeat these rows, and the one that ends
      // at 35 s contains only the second group.
      assertThat(windows(pipeline)).isEqualTo("15p 20p 35p");
    }
  }

  @Test
  void windowsArePartialUntilTheLastMonitorWatches() throws Exception {
    try (Pipeline pipeline = pipeline(2, Plans.topK(3, "1s", "1s"))) {
      MonitorStream otherStream = new MonitorStream("q", "m1", 0, 1).watchedSince(12 * SECOND);
      monitor.watchedSince(10 * SECOND);
      seconds(pipeline, monitor, 10, 14);
      pipeline.feed(1, otherStream.batch(14 * SECOND, List.of()).toByteArray());
      assertThat(windows(pipeline)).isEqualTo("11p 12p 13 14");
    }
  }

  @Test
  void windowsArePartialUntilTheLastLaneWatches() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      MonitorStream otherStream = new MonitorStream("q", "m0", 1, 1).watchedSince(12 * SECOND);
      monitor.watchedSince(10 * SECOND);
      feed(pipeline, otherStream.batch(10 * SECOND, List.of()).toBuilder().setLanes(2).build());
      seconds(pipeline, monitor, 10, 14);
      feed(pipeline, otherStream.batch(14 * SECOND, List.of()));
      assertThat(windows(pipeline)).isEqualTo("11p 12p 13 14");
    }
  }

  @Test
  void copiesThatNoSwitchHasConfirmedArePartial() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      monitor.watchedSince(Long.MAX_VALUE);
      seconds(pipeline, monitor, 10, 12);
      pipeline.restart(1);
      monitor.watchedSince(12 * SECOND + 1);
      seconds(pipeline, monitor, 12, 15);
      assertThat(windows(pipeline)).isEqualTo("11p 12p 13p 14 15");
    }
  }

  /**
   * Tests the next incarnation, which has the same epoch after a crash, or a higher one on another
   * host.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void gapsBetweenIncarnationsOfAMonitorArePartial(int epoch) throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      monitor.watchedSince(10 * SECOND);
      seconds(pipeline, monitor, 10, 12);
      feed(pipeline, monitor.batch(12 * SECOND + 5, List.of(get(12))));
      monitor.restart().epoch(epoch).watchedSince(Long.MAX_VALUE);
      feed(pipeline, monitor.batch(14 * SECOND, List.of(get(13))));
      pipeline.restart(2);
      monitor.watchedSince(14 * SECOND + 1);
      seconds(pipeline, monitor, 14, 16);
      assertThat(windows(pipeline)).isEqualTo("11 12 13p 14p 15p 16");
    }
  }

  /** Tests that seconds in which tuples may have gone unseen have windows. */
  @Test
  void secondsBetweenTwoIncarnationsAreWrittenWithoutRows() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      monitor.watchedSince(10 * SECOND);
      seconds(pipeline, monitor, 10, 11);
      feed(pipeline, monitor.batch(11 * SECOND + 5, List.of()));
      monitor.restart().watchedSince(13 * SECOND + 5);
      feed(pipeline, monitor.batch(13 * SECOND + 6, List.of()));
      seconds(pipeline, monitor, 14, 15);
      assertThat(windows(pipeline)).isEqualTo("11 12 13 14 15");
      assertThat(
              pipeline.windows(0).stream()
                  .map(window -> window.at("/completeness/dropped/monitor_replaced").asInt()))
          .containsExactly(0, 1, 1, 1, 0);
      assertThat(pipeline.windows(0).stream().map(window -> window.get("rows").size()))
          .containsExactly(1, 0, 0, 0, 1);
    }
  }

  /**
   * Tests that nothing is lost if the old incarnation reported everything, and the new one was
   * already watching by then.
   */
  @Test
  void overlappingIncarnationsLeaveNoGap() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      monitor.watchedSince(10 * SECOND);
      seconds(pipeline, monitor, 10, 12);
      monitor.restart().watchedSince(11 * SECOND);
      seconds(pipeline, monitor, 12, 14);
      assertThat(windows(pipeline)).isEqualTo("11 12 13 14");
    }
  }

  @Test
  void batchesInTheNameOfADeadMonitorChangeNothing() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      monitor.watchedSince(10 * SECOND);
      seconds(pipeline, monitor, 10, 12);
      TupleBatch owed = monitor.watchedSince(0).batch(12 * SECOND, List.of());
      monitor.restart().watchedSince(13 * SECOND);
      feed(pipeline, monitor.batch(12 * SECOND, List.of()));
      feed(pipeline, owed);
      seconds(pipeline, monitor, 12, 15);
      assertThat(windows(pipeline)).isEqualTo("11 12 13p 14 15");
    }
  }

  /** Tests batches of older monitors, which do not state when they began to watch. */
  @Test
  void batchesWithoutAWatchTimeCountAsWatched() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      seconds(pipeline, monitor, 10, 12);
      seconds(pipeline, monitor.restart(), 12, 14);
      assertThat(windows(pipeline)).isEqualTo("11 12 13 14");
    }
  }

  @Test
  void windowsThatDidNotWaitForASilentMonitorArePartial() throws Exception {
    try (Pipeline pipeline = pipeline(2, Plans.topK(3, "1s", "1s"))) {
      MonitorStream otherStream = new MonitorStream("q", "m1", 0, 1);
      pipeline.feed(1, otherStream.batch(11 * SECOND, List.of()).toByteArray());
      seconds(pipeline, monitor, 10, 12);
      assertThat(windows(pipeline)).isEqualTo("11");
      pipeline.listen(1, 5, true);
      assertThat(windows(pipeline)).isEqualTo("11 12p");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aWholeQueryBeginsWithItsWatchAndMayBeInterrupted(boolean interrupted) throws Exception {
    String whole = Plans.group("COUNT", "\"url\"", "\"slide\":\"1s\"");
    try (Pipeline pipeline = pipeline(1, whole)) {
      monitor.watchedSince(10 * SECOND + 5);
      seconds(pipeline, monitor, 10, 11);
      if (interrupted) {
        monitor.restart().watchedSince(11 * SECOND + 5);
      }
      seconds(pipeline, monitor, 11, 12);
      feed(pipeline, monitor.end(12 * SECOND));
      assertThat(windows(pipeline)).endsWith(interrupted ? "p" : "12");
    }
  }

  /** Tests that few tuples raise no alert, since more requests may have gone unseen. */
  @ParameterizedTest
  @ValueSource(strings = {"BELOW", "AT_MOST"})
  void fewTuplesInAPartialWindowAreNoAlert(String comparison) throws Exception {
    assertThat(alertsOf(comparison, 2)).isEqualTo("12");
  }

  /**
   * Tests that many tuples raise an alert, since unseen requests would only increase the counts.
   */
  @ParameterizedTest
  @ValueSource(strings = {"ABOVE", "AT_LEAST"})
  void manyTuplesInAPartialWindowAreAnAlert(String comparison) throws Exception {
    assertThat(alertsOf(comparison, 7)).startsWith("11p");
  }

  /** Returns the windows with alerts. Only part of the first second is watched. */
  private String alertsOf(String comparison, int requests) throws Exception {
    String trigger =
        Plans.with(
            Plans.group("COUNT", "\"url\"", "\"size\":\"1s\",\"slide\":\"1s\""),
            TRIGGER.formatted(comparison));
    try (Pipeline pipeline = pipeline(1, trigger)) {
      monitor.watchedSince(10 * SECOND + 5);
      for (int second = 10; second < 13; second++) {
        List<Tuple> sameTuples = Collections.nCopies(requests, get(second));
        feed(pipeline, monitor.batch((second + 1) * SECOND, sameTuples));
      }
      return windows(pipeline);
    }
  }

  /** Sends one request in each second, in a batch at the end of the second. */
  private static void seconds(Pipeline pipeline, MonitorStream monitor, int first, int end)
      throws Exception {
    for (int second = first; second < end; second++) {
      feed(pipeline, monitor.batch((second + 1) * SECOND, List.of(get(second))));
    }
  }

  private static void feed(Pipeline pipeline, TupleBatch batch) throws Exception {
    pipeline.feed(0, batch.toByteArray());
  }

  private static Pipeline pipeline(int monitors, String processors) throws Exception {
    return new Pipeline(Plans.plan("q", monitors, processors), JobOptions.defaults());
  }

  private static Tuple get(int second) {
    return Tuple.http(second * SECOND + 7, second, "/a", 0);
  }

  /** Returns the second in which each window ends, with a p if it is partial. */
  private static String windows(Pipeline pipeline) {
    return pipeline.windows(0).stream()
        .map(window -> window.get("end").asLong() / SECOND + (isPartial(window) ? "p" : ""))
        .collect(Collectors.joining(" "));
  }

  private static boolean isPartial(JsonNode window) {
    return window.at("/rows/0/partial").asBoolean();
  }
}
