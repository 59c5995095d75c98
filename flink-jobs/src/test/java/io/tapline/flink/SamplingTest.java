package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.flink.ingest.Pipeline;
import io.tapline.flink.support.MonitorStream;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.Tuple;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests that the bounds of estimates from sampled flows contain the true value as often as claimed.
 */
class SamplingTest {
  private static final long SECOND = 1_000_000_000L;
  private static final int TRIALS = 60;
  private static final String WINDOW = "\"size\":\"1s\",\"slide\":\"1s\"";

  /**
   * Tests flows of one tuple and of many. If tuples were considered independent, the bounds for
   * flows of many tuples would be a fifth as wide as necessary, and would contain the true value in
   * only a third of the trials.
   */
  @ParameterizedTest
  @CsvSource({"400, 1, 0.25", "400, 30, 0.25", "2000, 30, 0.05", "400, 10, 0.8"})
  void boundsContainTheTruthInMostTrials(int flows, int tuples, double rate) throws Exception {
    int covered = 0;
    double spread = 0;
    for (int seed = 0; seed < TRIALS; seed++) {
      Random random = new Random(seed);
      List<Tuple> all = flows(flows, tuples, random);
      long sum = all.stream().mapToLong(t -> (long) t.fields().get("response_time_ns")).sum();
      String processors =
          String.join(
              ",",
              Plans.counts("COUNT", "", WINDOW),
              Plans.group("SUM", "", WINDOW),
              Plans.group("AVG", "", WINDOW),
              Plans.counts("RATE", "", WINDOW));
      try (Pipeline pipeline = run(processors, sample(all, rate, random), rate)) {
        covered += holds(row(pipeline, 0), all.size());
        covered += holds(row(pipeline, 1), sum);
        covered += holds(row(pipeline, 2), (double) sum / all.size());
        covered += holds(row(pipeline, 3), all.size());
        JsonNode count = row(pipeline, 0);
        spread += (count.get("high").asDouble() - count.get("low").asDouble()) / all.size();
      }
    }
    assertThat(covered).isGreaterThan((int) (0.9 * 4 * TRIALS));
    assertThat(spread / TRIALS).as("relative width of the bounds").isLessThan(0.7);
  }

  private static List<Tuple> flows(int flows, int tuples, Random random) {
    List<Tuple> all = new ArrayList<>();
    for (int flow = 0; flow < flows; flow++) {
      long id = random.nextLong();
      int size = 1 + random.nextInt(2 * tuples - 1);
      for (int i = 0; i < size; i++) {
        all.add(Tuple.http(random.nextInt(900_000_000), id, "/a", 1000 + random.nextInt(1000)));
      }
    }
    all.sort(Comparator.comparingLong(Tuple::timeNs));
    return all;
  }

  /** Samples flows, as monitors do. */
  private static List<Tuple> sample(List<Tuple> all, double rate, Random random) {
    long salt = random.nextLong();
    return all.stream()
        .filter(tuple -> new Random(tuple.flow() ^ salt).nextDouble() < rate)
        .toList();
  }

  @Test
  void countsExactlyWhenEveryFlowIsKept() throws Exception {
    List<Tuple> all = flows(50, 5, new Random(1));
    try (Pipeline pipeline = run(Plans.counts("COUNT", "", WINDOW), all, 1)) {
      JsonNode row = row(pipeline, 0);
      assertThat(row.get("value").asLong()).isEqualTo(all.size());
      assertThat(row.get("low")).isEqualTo(row.get("value")).isEqualTo(row.get("high"));
    }
  }

  @Test
  void overlappingBoundsAreTies() throws Exception {
    List<Tuple> keptTuples = new ArrayList<>();
    String[] urls = {"/much", "/little", "/alike"};
    int[] flows = {900, 40, 39};
    for (int url = 0; url < 3; url++) {
      for (int i = 0; i < flows[url]; i++) {
        keptTuples.add(
            Tuple.http(1000 * url + i, (url << 20 | i) * 0x9e3779b97f4a7c15L, urls[url], 1));
      }
    }
    try (Pipeline pipeline = run(Plans.topK(3, "1s", "1s"), keptTuples, 0.5)) {
      JsonNode rows = pipeline.windows(0).get(0).get("rows");
      assertThat(rows.findValuesAsText("url")).containsExactly("/much", "/little", "/alike");
      assertThat(rows.get(0).has("tied")).isFalse();
      assertThat(rows.get(1).path("tied").asBoolean()).isTrue();
      assertThat(rows.get(2).path("tied").asBoolean()).isTrue();
    }
    try (Pipeline pipeline = run(Plans.topK(3, "1s", "1s"), keptTuples, 1)) {
      assertThat(pipeline.windows(0).get(0).get("rows").findValues("tied")).isEmpty();
    }
  }

  @Test
  void largeDistinctCountsAreEstimatedWithinBounds() throws Exception {
    int covered = 0;
    for (int seed = 0; seed < 20; seed++) {
      List<Tuple> tuples = new ArrayList<>();
      for (int i = 0; i < 20_000; i++) {
        tuples.add(Tuple.http(i, i, "/" + seed + "/" + i % 5000, 0));
      }
      try (Pipeline pipeline = run(Plans.distinct("url", "", WINDOW), tuples, 1)) {
        JsonNode row = row(pipeline, 0);
        assertThat(row.get("value").asDouble()).isBetween(4500.0, 5500.0);
        assertThat(row.get("low").asDouble()).isLessThan(row.get("high").asDouble());
        covered += holds(row, 5000);
      }
    }
    assertThat(covered).isGreaterThanOrEqualTo(17);
  }

  @Test
  void aPercentileOfManyValuesHasBounds() throws Exception {
    List<Tuple> tuples = new ArrayList<>();
    for (int i = 0; i < 30_000; i++) {
      tuples.add(Tuple.http(i, i, "/a", i * 7919L % 30_000));
    }
    String p99 = Plans.with(Plans.group("PERCENTILE", "", WINDOW), ",\"share\":0.99");
    try (Pipeline pipeline = run(p99, tuples, 1)) {
      JsonNode row = row(pipeline, 0);
      assertThat(row.get("value").asDouble()).isBetween(29_600.0, 29_800.0);
      assertThat(row.get("low").asDouble()).isLessThanOrEqualTo(29_700).isGreaterThan(29_500);
      assertThat(row.get("high").asDouble()).isGreaterThanOrEqualTo(29_699).isLessThan(29_900);
    }
  }

  private static Pipeline run(String processors, List<Tuple> keptTuples, double rate)
      throws Exception {
    Pipeline pipeline = new Pipeline(Plans.plan("q", 1, processors), JobOptions.defaults());
    MonitorStream monitor = new MonitorStream("q", "m0", 0, rate);
    pipeline.feed(0, monitor.batch(0, keptTuples).toByteArray());
    pipeline.feed(0, monitor.end(SECOND).toByteArray());
    return pipeline;
  }

  private static JsonNode row(Pipeline pipeline, int processor) {
    return pipeline.windows(processor).get(0).get("rows").get(0);
  }

  private static int holds(JsonNode row, double truth) {
    return row.get("low").asDouble() <= truth && truth <= row.get("high").asDouble() ? 1 : 0;
  }
}
