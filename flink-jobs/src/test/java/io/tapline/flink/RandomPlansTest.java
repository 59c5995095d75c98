package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.flink.ingest.Pipeline;
import io.tapline.flink.support.Oracle;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.Workload;
import io.tapline.schema.proto.Plan;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Runs random plans over random streams, whose batches are interleaved, repeated or late, through
 * operators that sometimes restart with a different parallelism. The results must equal those of
 * the reference evaluator.
 */
class RandomPlansTest {
  private static final int CASES_A_BLOCK = 50;

  private static final String[] AGGREGATES = {
    "COUNT", "SUM", "AVG", "MIN", "MAX", "DISTRIBUTION", "RATE", "PERCENTILE", "HISTOGRAM"
  };
  private static final String[] KEYS = {
    "", "\"url\"", "\"dst_ip\"", "\"src_port\"", "\"url\",\"src_port\""
  };
  private static final String[] BOUNDED = {
    "\"size\":\"10s\",\"slide\":\"1s\"",
    "\"size\":\"4s\",\"slide\":\"4s\"",
    "\"size\":\"5s\",\"slide\":\"3s\"",
    "\"size\":\"2s\",\"slide\":\"7s\"",
    "\"size\":\"0.300s\",\"slide\":\"0.100s\""
  };
  private static final String[] WHOLE = {"\"slide\":\"10s\"", "\"slide\":\"1s\""};
  private static final String[] COMPARISONS = {"ABOVE", "AT_LEAST", "BELOW", "AT_MOST"};

  /** Runs 21 blocks of 50 cases; some faults are found by only one of the blocks. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
  void agreeWithTheReferenceEvaluator(int block) throws Exception {
    for (int i = 0; i < CASES_A_BLOCK; i++) {
      check(block * CASES_A_BLOCK + i);
    }
  }

  private static void check(int seed) throws Exception {
    Random random = new Random(seed);
    int monitors = 1 + random.nextInt(3);
    Plan plan = Plans.plan("q", monitors, processors(random));
    int connections = 1 + random.nextInt(random.nextInt(10) == 0 ? 200 : 40);
    Workload workload =
        new Workload(
            "q",
            monitors,
            4 + random.nextInt(16),
            connections,
            seed,
            random.nextInt(5),
            seed % 2 == 0);
    JobOptions options = JobOptions.defaults().withParallelism(1 + random.nextInt(3));
    try (Pipeline pipeline = new Pipeline(plan, options)) {
      feed(pipeline, workload, random);
      boolean requests = false;
      for (int i = 0; i < plan.getProcessorsCount(); i++) {
        Oracle oracle =
            new Oracle(plan, i, workload.tuples, workload.endsNs)
                .watchedSince(workload.watchedSinceNs);
        assertThat(Oracle.actual(pipeline.windows(i)))
            .as("case %d: %s", seed, plan.getProcessors(i))
            .isEqualTo(oracle.windows());
        requests |= plan.getProcessors(i).getParser().equals("http_get");
      }
      assertThat(pipeline.totals())
          .as("case %d", seed)
          .containsEntry("tuples", Long.toString(workload.tuples.size() + workload.lateTuples))
          .containsEntry("duplicates", Long.toString(workload.repeats))
          .containsEntry("late", Long.toString(requests ? workload.lateTuples : 0));
    }
  }

  private static String processors(Random random) {
    List<String> processors = new ArrayList<>();
    for (int i = random.nextInt(1, 4); i > 0; i--) {
      boolean trigger = random.nextInt(5) == 0;
      boolean isWhole = !trigger && random.nextInt(3) == 0;
      String processor = processor(random, pick(isWhole ? WHOLE : BOUNDED, random), isWhole);
      if (trigger && random.nextBoolean() && isOfRequests(processor)) {
        processor = Plans.with(processor, expression(random) + trigger(random));
      } else if (trigger) {
        processor = Plans.with(processor, condition(random) + trigger(random));
      } else if (random.nextInt(4) == 0) {
        processor = Plans.with(processor, condition(random));
      }
      if (!trigger && random.nextInt(3) == 0) {
        processor = Plans.with(processor, ranking(random));
      }
      processors.add(processor);
    }
    return String.join(",", processors);
  }

  private static String processor(Random random, String window, boolean isWhole) {
    String aggregate =
        isWhole ? pick(AGGREGATES, random).replace("RATE", "SUM") : pick(AGGREGATES, random);
    String share = ",\"share\":" + (1 + random.nextInt(100)) / 100.0;
    return switch (random.nextInt(5)) {
      case 0 ->
          Plans.counts(
              isWhole || random.nextBoolean() ? "COUNT" : "RATE", pick(KEYS, random), window);
      case 1 ->
          Plans.with(
              Plans.diff(aggregate, random.nextBoolean() ? "\"dst_ip\"" : "", window), share);
      case 2 -> Plans.with(Plans.join(aggregate, window), share);
      case 3 ->
          Plans.distinct(
              random.nextBoolean() ? "url" : "response_time_ns", pick(KEYS, random), window);
      default -> Plans.with(Plans.group(aggregate, pick(KEYS, random), window), share);
    };
  }

  private static boolean isOfRequests(String processor) {
    return processor.contains("\"parser\":\"http_get\"") && !processor.contains("\"join\"");
  }

  /**
   * Returns up to three operands and a condition on all values: each is compared with a number, the
   * last one as a quotient of itself and the first.
   */
  private static String expression(Random random) {
    String[] operands = {
      "{\"value\":{\"count\":{}}}",
      "{\"value\":{\"field\":\"response_time_ns\"},\"aggregate\":\"SUM\"}",
      "{\"value\":{\"field\":\"response_time_ns\"},\"aggregate\":\"MAX\"}",
      "{\"value\":{\"field\":\"response_time_ns\",\"only\":%s},\"aggregate\":\"AVG\"}"
          .formatted(Plans.ONLY_PAGE_1),
      "{\"value\":{\"field\":\"url\"},\"aggregate\":\"DISTINCT\"}",
      "{\"value\":{\"field\":\"response_time_ns\"},\"aggregate\":\"PERCENTILE\",\"share\":0.5}"
    };
    List<String> chosen = new ArrayList<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      chosen.add(pick(operands, random));
    }
    String clear = random.nextBoolean() ? "" : ",\"clear\":[%s]".formatted(steps(chosen, random));
    return ",\"operands\":[%s],\"when\":[%s]%s"
        .formatted(String.join(",", chosen), steps(chosen, random), clear);
  }

  private static String steps(List<String> operands, Random random) {
    List<String> steps = new ArrayList<>();
    for (int value = 0; value <= operands.size(); value++) {
      steps.add("{\"operand\":%d}".formatted(value));
      if (value > 0 && value == operands.size()) {
        steps.add("{\"operand\":0}");
        steps.add(operator(pick(new String[] {"ADD", "SUBTRACT", "MULTIPLY", "DIVIDE"}, random)));
      }
      double threshold = random.nextBoolean() ? random.nextInt(12) : random.nextInt(600_000_000);
      steps.add("{\"constant\":%s}".formatted(random.nextBoolean() ? threshold : threshold / 1e8));
      steps.add(
          operator(pick(new String[] {"GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"}, random)));
      if (value > 0) {
        steps.add(operator(random.nextBoolean() ? "AND" : "OR"));
      }
    }
    return String.join(",", steps);
  }

  private static String operator(String name) {
    return "{\"operator\":\"%s\"}".formatted(name);
  }

  private static String condition(Random random) {
    return ",\"condition\":{\"comparison\":\"%s\",\"threshold\":%d}"
        .formatted(
            pick(COMPARISONS, random),
            random.nextBoolean() ? random.nextInt(12) : random.nextInt(600_000_000));
  }

  /**
   * Returns a trigger with a random threshold for clearing, which may also be on the wrong side of
   * the condition's threshold.
   */
  private static String trigger(Random random) {
    return ",\"trigger\":{\"clear\":%d,\"after\":%d,\"cooldown\":\"%ds\",\"severity\":\"info\"}"
        .formatted(
            random.nextBoolean() ? random.nextInt(12) : random.nextInt(600_000_000),
            1 + random.nextInt(3),
            random.nextInt(5));
  }

  private static String ranking(Random random) {
    return ",\"ranking\":{\"k\":%d,\"ascending\":%b}"
        .formatted(1 + random.nextInt(5), random.nextBoolean());
  }

  private static String pick(String[] choices, Random random) {
    return choices[random.nextInt(choices.length)];
  }

  /**
   * Feeds the partitions in random order, keeps the order within each, and may restart the
   * operators once. A late batch waits until every monitor has sent, since no window can close
   * before then.
   */
  private static void feed(Pipeline pipeline, Workload workload, Random random) throws Exception {
    int[] next = new int[workload.partitions.size()];
    int left = workload.partitions.stream().mapToInt(List::size).sum();
    int restarts = 0;
    for (; left > 0; left--) {
      int partition = random.nextInt(next.length);
      boolean all = allActive(workload, next);
      while (next[partition] == workload.partitions.get(partition).size()
          || !all && workload.lateRecords.get(partition).contains(next[partition])) {
        partition = (partition + 1) % next.length;
      }
      pipeline.feed(partition, workload.partitions.get(partition).get(next[partition]++));
      if (restarts < 1 && random.nextInt(60) == 0) {
        pipeline.restart(1 + random.nextInt(3));
        restarts++;
      }
    }
    for (int partition = 0; partition < next.length; partition++) {
      assertThat(pipeline.ended(partition)).isTrue();
    }
  }

  /**
   * Returns true if every partition has a watermark, that is, if its next batch is late or it has
   * sent several or all of its batches.
   */
  private static boolean allActive(Workload workload, int[] next) {
    for (int partition = 0; partition < next.length; partition++) {
      int size = workload.partitions.get(partition).size();
      boolean isActive =
          workload.lateRecords.get(partition).contains(next[partition])
              || next[partition] == size
              || next[partition] > 6;
      if (!isActive) {
        return false;
      }
    }
    return true;
  }
}
