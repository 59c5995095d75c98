package io.tapline.flink;

import static io.tapline.flink.support.Conditions.among;
import static io.tapline.flink.support.Conditions.compared;
import static io.tapline.flink.support.Conditions.text;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.MessageOrBuilder;
import com.google.protobuf.util.JsonFormat;
import io.tapline.conditions.Trees;
import io.tapline.flink.ingest.Pipeline;
import io.tapline.flink.support.Conditions;
import io.tapline.flink.support.Oracle;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.Tuple;
import io.tapline.flink.support.Workload;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.FieldCondition;
import io.tapline.schema.proto.Plan;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares WHERE in the operators with the reference evaluator, whose tuples are filtered by Java
 * predicates.
 */
class WhereTest {
  private static final String HTTP = "http_get";
  private static final String CONNECTIONS = "tcp_conn_time";
  private static final long SLOW_NS = 200_000_000;
  private static final String WINDOW = "\"size\":\"4s\",\"slide\":\"4s\"";

  static IntStream seeds() {
    return IntStream.range(0, 40);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void tuplesAreFilteredBeforeTheProcessors(int seed) throws Exception {
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
    List<Tuple> keptTuples = new ArrayList<>(workload.tuples);
    for (int i = 1 + random.nextInt(2); i > 0; i--) {
      where(random, plan, keptTuples);
    }
    try (Pipeline pipeline = new Pipeline(plan.build(), JobOptions.defaults())) {
      feed(pipeline, workload);
      for (int i = 0; i < plan.getProcessorsCount(); i++) {
        Oracle oracle = new Oracle(plan.build(), i, keptTuples, workload.endsNs);
        assertThat(Oracle.actual(pipeline.windows(i))).as("%s", plan).isEqualTo(oracle.windows());
      }
      assertThat(pipeline.totals())
          .containsEntry("tuples", Integer.toString(workload.tuples.size()));
    }
  }

  @Test
  void plansOfThePreviousVersionHaveTheSameMeaning() throws Exception {
    Plan plan = Plans.plan("q", 1, asked("\"condition\":%s", text("url", "/page1")));
    ConditionTree otherTree = Trees.not(text("url", "/page0", "/page3"));
    Plan changedPlan =
        plan.toBuilder()
            .addFilters(Conditions.of(Trees.and(List.of(otherTree, isSlow())), HTTP))
            .build();
    Plan.Builder earlier =
        Plans.plan("q", 1, asked("\"conditions\":{\"all\":[%s]}", condition("url", "/page1")))
            .toBuilder();
    earlier
        .addWhere(
            condition("url", "/page0", "/page3").setOperator(FieldCondition.Operator.NOT_EQUAL))
        .addWhere(
            condition("response_time_ns", Long.toString(SLOW_NS))
                .setOperator(FieldCondition.Operator.GREATER_OR_EQUAL));
    assertThat(windows(earlier.build())).isNotEmpty().isEqualTo(windows(changedPlan));
  }

  private static FieldCondition.Builder condition(String field, String... values) {
    return FieldCondition.newBuilder()
        .addParsers(HTTP)
        .setField(field)
        .addAllValues(List.of(values));
  }

  private static String asked(String form, MessageOrBuilder condition) throws Exception {
    return """
        {"name":"asked","parser":"http_get","key":["dst_ip"],"value":{%s},"aggregate":"AVG",
         "window":{%s}}"""
        .formatted(form.formatted(JsonFormat.printer().print(condition)), WINDOW);
  }

  private static List<JsonNode> windows(Plan plan) throws Exception {
    try (Pipeline pipeline = new Pipeline(plan, JobOptions.defaults())) {
      feed(pipeline, new Workload("q", 1, 12, 50, 7));
      return pipeline.windows(0);
    }
  }

  private static void feed(Pipeline pipeline, Workload workload) throws Exception {
    for (int partition = 0; partition < workload.partitions.size(); partition++) {
      for (byte[] record : workload.partitions.get(partition)) {
        pipeline.feed(partition, record);
      }
    }
  }

  /** Adds a random condition to the plan and removes the tuples that fail it from the list. */
  private static void where(Random random, Plan.Builder plan, List<Tuple> keptTuples) {
    switch (random.nextInt(7)) {
      case 0 -> {
        plan.addFilters(Conditions.of(text("url", "/page1", "/page3"), HTTP));
        keptTuples.removeIf(t -> isHttp(t) && !Set.of("/page1", "/page3").contains(t.field("url")));
      }
      case 1 -> {
        plan.addFilters(Conditions.of(Trees.not(text("url", "/page0")), HTTP));
        keptTuples.removeIf(t -> isHttp(t) && t.field("url").equals("/page0"));
      }
      case 2 -> {
        plan.addFilters(Conditions.of(isSlow(), HTTP));
        keptTuples.removeIf(t -> isHttp(t) && !isSlow(t));
      }
      case 3 -> {
        plan.addFilters(Conditions.of(compared("src_port", Order.LESS, 1100), HTTP, CONNECTIONS));
        keptTuples.removeIf(t -> (long) t.field("src_port") >= 1100);
      }
      case 4 -> {
        plan.addFilters(Conditions.of(among("dst_ip", "10.0.1.0/31"), HTTP, CONNECTIONS));
        keptTuples.removeIf(t -> t.destination().equals("10.0.1.2"));
      }
      case 5 -> {
        ConditionTree either = Trees.or(List.of(isSlow(), text("url", "/page1")));
        plan.addFilters(Conditions.of(either, HTTP));
        keptTuples.removeIf(t -> isHttp(t) && !isSlow(t) && !t.field("url").equals("/page1"));
      }
      default -> {
        ConditionTree otherTree = Trees.not(among("dst_ip", "10.0.1.1/32", "2001:db8::/32"));
        plan.addFilters(Conditions.of(otherTree, HTTP, CONNECTIONS));
        keptTuples.removeIf(t -> t.destination().equals("10.0.1.1"));
      }
    }
  }

  private static ConditionTree isSlow() {
    return compared("response_time_ns", Order.GREATER_OR_EQUAL, SLOW_NS);
  }

  private static boolean isSlow(Tuple tuple) {
    return (long) tuple.field("response_time_ns") >= SLOW_NS;
  }

  private static boolean isHttp(Tuple tuple) {
    return tuple.parser().equals(HTTP);
  }
}
