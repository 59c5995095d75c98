package io.tapline.compiler.packets;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Tests that the compiler uses the same costs as the monitor's trigger engine. */
class TriggerCostModelTest {
  private static final Path HEADER = Path.of("../parsers/trigger/admission.h");
  private static final Pattern COST = Pattern.compile("\n  double (\\w+) = ([0-9.]+);");

  private static Map<String, Double> costsOfTheEngine() throws IOException {
    String header = Files.readString(HEADER);
    int begin = header.indexOf("struct CostModel {");
    Matcher matcher = COST.matcher(header.substring(begin, header.indexOf("};", begin)));
    Map<String, Double> costs = new TreeMap<>();
    while (matcher.find()) {
      costs.put(matcher.group(1), Double.parseDouble(matcher.group(2)));
    }
    return costs;
  }

  @Test
  void costsAreThoseOfTheEngine() throws IOException {
    Map<String, Double> costs = costsOfTheEngine();
    assertThat(costs.remove("receive")).as("here, parsing includes receiving").isPositive();
    assertThat(costs)
        .containsExactlyInAnyOrderEntriesOf(
            Map.ofEntries(
                entry("match", TriggerCost.MATCH),
                entry("match_root", TriggerCost.MATCH_ROOT),
                entry("tcp", TriggerCost.TCP),
                entry("count_group", TriggerCost.COUNT_GROUP),
                entry("miss_group", TriggerCost.MISS_GROUP),
                entry("cached_groups", TriggerCost.CACHED_GROUPS),
                entry("sweep_set", TriggerCost.SWEEP_SET),
                entry("sweep_trigger", TriggerCost.SWEEP_TRIGGER),
                entry("test_trigger", TriggerCost.TEST_TRIGGER),
                entry("sweep_group", TriggerCost.SWEEP_GROUP),
                entry("find_group", TriggerCost.FIND_GROUP),
                entry("add_distinct", TriggerCost.ADD_DISTINCT),
                entry("add_percentile", TriggerCost.ADD_PERCENTILE),
                entry("merge_values", TriggerCost.MERGE_VALUES),
                entry("test_values", TriggerCost.TEST_VALUES),
                entry("look_set", TriggerCost.LOOK_SET),
                entry("look_trigger", TriggerCost.LOOK_TRIGGER),
                entry("test_limit", TriggerCost.TEST_LIMIT),
                entry("look_interval", TriggerCost.LOOK_INTERVAL),
                entry("max_looks", TriggerCost.MAX_LOOKS),
                entry("max_busy", TriggerCost.MAX_BUSY)));
  }
}
