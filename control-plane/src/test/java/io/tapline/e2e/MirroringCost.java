package io.tapline.e2e;

import static io.tapline.e2e.MirroredNetwork.H1;
import static io.tapline.e2e.MirroredNetwork.H1_ADDRESS;
import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.e2e.Throughput.Rate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Measures the cost of a query's mirroring in a network, compared with the same rules installed
 * manually. In each round, one connection crosses the same switches without rules, with manual
 * rules, and with a query, in random order. Prints each round, and the ratios within rounds:
 * minimum, median and maximum. With manual rules, the copies are not read. With a query, a monitor
 * and the pipeline share the cores with the switches; the switches' own CPU time does not include
 * their work.
 *
 * <p>Run by {@code bench/mirroring}.
 */
class MirroringCost {
  private static final String SIZES =
      "PARSE tcp_pkt_size FROM * TO %s:%d LIMIT 1h SAMPLE * PROCESS (group-sum: group=dst_ip)";
  private static final String EDGE = "e00";

  private enum Load {
    NOTHING,
    RULES_BY_HAND,
    QUERY
  }

  private MirroredNetwork network;
  private List<String> rules;

  @BeforeEach
  void start() throws Exception {
    network = MirroredNetwork.up();
  }

  @AfterEach
  void stop() throws Exception {
    if (network != null) {
      network.close();
    }
  }

  @Test
  void measuresThroughputAndWorkOfSwitches() throws Exception {
    int rounds = Integer.parseInt(System.getenv().getOrDefault("MIRRORING_ROUNDS", "7"));
    List<Map<Load, Rate>> all = new ArrayList<>();
    try (Throughput throughput = new Throughput(network.fabric, "h-3-1-1", H1, H1_ADDRESS)) {
      underQuery(throughput);
      List<Load> order = new ArrayList<>(List.of(Load.values()));
      Random random = new Random(9);
      for (int round = 0; round < rounds; round++) {
        Collections.shuffle(order, random);
        Map<Load, Rate> rates = new EnumMap<>(Load.class);
        for (Load load : order) {
          rates.put(load, measure(load, throughput));
        }
        all.add(rates);
        System.out.println("Mirroring: " + rates);
      }
    }
    print("Mb/s", all, Rate::megabits);
    print("CPU time of the switches per MB", all, Rate::switchMsPerMb);
  }

  private Rate measure(Load load, Throughput throughput) throws Exception {
    return switch (load) {
      case NOTHING -> throughput.measure();
      case RULES_BY_HAND -> underRules(throughput);
      case QUERY -> underQuery(throughput);
    };
  }

  private Rate underRules(Throughput throughput) throws Exception {
    assertThat(network.fabric.mirrorRules(EDGE)).isEmpty();
    for (String rule : rules) {
      network.fabric.openFlow("add-flow", EDGE, "cookie=0x1234," + rule);
    }
    Rate rate = throughput.measure();
    network.fabric.openFlow("del-flows", EDGE, "cookie=0x1234/-1");
    return rate;
  }

  /**
   * Measures while a query is running. Checks that the query's rules are the same in each round.
   */
  private Rate underQuery(Throughput throughput) throws Exception {
    String query = network.submit(SIZES.formatted(H1_ADDRESS, Throughput.PORT));
    network.server().awaitState(query, "running");
    List<String> now = network.fabric.mirrorRules(EDGE);
    assertThat(now).isNotEmpty().isEqualTo(rules == null ? now : rules);
    rules = now;
    Rate rate = throughput.measure();
    assertThat(network.fabric.mirroring().get(EDGE)).as("packets copied").isPositive();
    network.stop(query);
    return rate;
  }

  private static void print(
      String title, List<Map<Load, Rate>> rounds, ToDoubleFunction<Rate> figure) {
    for (Load load : Load.values()) {
      System.out.printf(
          "Mirroring: %s, %s: %s%n",
          title, load, spread(rounds, round -> value(round, load, figure)));
    }
    System.out.printf(
        "Mirroring: %s, manual / nothing %s, query / nothing %s, query / manual %s%n",
        title,
        ratio(rounds, Load.RULES_BY_HAND, Load.NOTHING, figure),
        ratio(rounds, Load.QUERY, Load.NOTHING, figure),
        ratio(rounds, Load.QUERY, Load.RULES_BY_HAND, figure));
  }

  private static double value(Map<Load, Rate> round, Load load, ToDoubleFunction<Rate> figure) {
    return figure.applyAsDouble(round.get(load));
  }

  private static String ratio(
      List<Map<Load, Rate>> rounds,
      Load numerator,
      Load denominator,
      ToDoubleFunction<Rate> figure) {
    return spread(
        rounds, round -> value(round, numerator, figure) / value(round, denominator, figure));
  }

  private static String spread(
      List<Map<Load, Rate>> rounds, ToDoubleFunction<Map<Load, Rate>> figure) {
    double[] sorted = rounds.stream().mapToDouble(figure).sorted().toArray();
    return "%.3g (%.3g to %.3g)"
        .formatted(sorted[sorted.length / 2], sorted[0], sorted[sorted.length - 1]);
  }
}
