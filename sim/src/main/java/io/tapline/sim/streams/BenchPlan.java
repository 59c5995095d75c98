package io.tapline.sim.streams;

import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import java.util.ArrayList;
import java.util.List;

/** Plans of the measured queries: windows of 10 s every second, one monitor per partition. */
public final class BenchPlan {
  private static final String WINDOW = "\"window\":{\"size\":\"10s\",\"slide\":\"1s\"}";

  private BenchPlan() {}

  public static Plan of(Traffic.Kind kind, int partitions, String query) {
    List<String> monitors = new ArrayList<>();
    for (int i = 0; i < partitions; i++) {
      monitors.add("{\"id\":\"m%d\",\"partition\":%d}".formatted(i, i));
    }
    String processor =
        switch (kind) {
          case TOP_K ->
              "\"name\":\"top-k\",\"parser\":\"http_get\",\"key\":[\"url\"],\"value\":{\"count\":{},\"unit\":\"count\"}";
          case DIFF_GROUP -> duration("\"key\":[\"src_ip\"]");
          case JOIN ->
              duration("\"join\":{\"parser\":\"http_get\",\"fields\":[\"url\"]},\"key\":[\"url\"]");
        };
    return Plans.fromJson(
        """
        {"format":1,"query":"%s","epoch":1,"parsers":["tcp_conn_time","http_get"],
         "topic":"tapline.tuples.%s","monitors":[%s],
         "processors":[{%s,"ranking":{"k":10},%s}]}"""
            .formatted(query, query, String.join(",", monitors), processor, WINDOW));
  }

  private static String duration(String key) {
    return """
        "name":"diff-group","parser":"tcp_conn_time",%s,"aggregate":"AVG",
        "value":{"difference":{"event_field":"event","start":["syn"],"end":["fin","rst"]},"unit":"ns"}"""
        .formatted(key);
  }
}
