package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.flink.ingest.Pipeline;
import io.tapline.flink.support.Oracle;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.Tuple;
import io.tapline.flink.support.Workload;
import io.tapline.schema.proto.FieldCondition;
import io.tapline.schema.proto.Plan;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * WHERE through the operators, against the plain evaluator over the tuples that a plain test keeps.
 */
class WhereTest {
  private static final String WINDOW = "\"size\":\"4s\",\"slide\":\"4s\"";

  static IntStream seeds() {
    return IntStream.range(0, 40);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void leavesOutTuplesBeforeTheBlocks(int seed) throws Exception {
    Random random = new Random(seed);
    String processors =
        String.join(
            ",",
            Plans.topK(3, "10s", "2s"),
            Plans.group("SUM", "\"dst_ip\"", WINDOW),
            Plans.diff("AVG", "\"dst_ip\"", WINDOW));
    int monitors = 1 + random.nextInt(2);
    Plan.Builder plan = Plans.plan("q", monitors, processors).toBuilder();
    Workload workload = new Workload("q", monitors, 12, 1 + random.nextInt(100), seed);
    List<Tuple> kept = new ArrayList<>(workload.tuples);
    for (int i = 1 + random.nextInt(2); i > 0; i--) {
      where(random, plan, kept);
    }
    try (Pipeline pipeline = new Pipeline(plan.build(), JobOptions.defaults())) {
      feed(pipeline, workload);
      for (int i = 0; i < plan.getProcessorsCount(); i++) {
        Oracle oracle = new Oracle(plan.build(), i, kept, workload.endsNs);
        assertThat(Oracle.actual(pipeline.windows(i))).as("%s", plan).isEqualTo(oracle.windows());
      }
      assertThat(pipeline.totals())
          .containsEntry("tuples", Integer.toString(workload.tuples.size()));
    }
  }

  private static void feed(Pipeline pipeline, Workload workload) throws Exception {
    for (int partition = 0; partition < workload.partitions.size(); partition++) {
      for (byte[] record : workload.partitions.get(partition)) {
        pipeline.feed(partition, record);
      }
    }
  }

  /** Adds a condition to the plan and takes the tuples that fail it from the list. */
  private static void where(Random random, Plan.Builder plan, List<Tuple> kept) {
    FieldCondition.Builder condition = plan.addWhereBuilder().addParsers("http_get");
    switch (random.nextInt(6)) {
      case 0 -> {
        condition.setField("url").addValues("/page1").addValues("/page3");
        kept.removeIf(t -> isHttp(t) && !Set.of("/page1", "/page3").contains(t.field("url")));
      }
      case 1 -> {
        condition
            .setField("url")
            .setOperator(FieldCondition.Operator.NOT_EQUAL)
            .addValues("/page0");
        kept.removeIf(t -> isHttp(t) && t.field("url").equals("/page0"));
      }
      case 2 -> {
        condition
            .setField("response_time_ns")
            .setOperator(FieldCondition.Operator.GREATER_OR_EQUAL)
            .addValues("200000000");
        kept.removeIf(t -> isHttp(t) && (long) t.field("response_time_ns") < 200_000_000L);
      }
      case 3 -> {
        condition
            .addParsers("tcp_conn_time")
            .setField("src_port")
            .setOperator(FieldCondition.Operator.LESS)
            .addValues("1100");
        kept.removeIf(t -> (long) t.field("src_port") >= 1100);
      }
      case 4 -> {
        condition.addParsers("tcp_conn_time").setField("dst_ip").addValues("10.0.1.0/31");
        kept.removeIf(t -> t.destination().equals("10.0.1.2"));
      }
      default -> {
        condition
            .addParsers("tcp_conn_time")
            .setField("dst_ip")
            .setOperator(FieldCondition.Operator.NOT_EQUAL)
            .addValues("10.0.1.1/32")
            .addValues("2001:db8::/32");
        kept.removeIf(t -> t.destination().equals("10.0.1.1"));
      }
    }
  }

  private static boolean isHttp(Tuple tuple) {
    return tuple.parser().equals("http_get");
  }
}
