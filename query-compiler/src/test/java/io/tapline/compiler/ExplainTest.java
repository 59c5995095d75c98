package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import org.junit.jupiter.api.Test;

class ExplainTest {
  @Test
  void drawsTheJobGraphAndShowsTheCost() throws IOException {
    CompileResult result =
        Fixtures.compile(
            """
            PARSE tcp_conn_time, http_get FROM * TO *:80, *:8080 SAMPLE 0.25
            PROCESS (diff-group: group=(dst_ip, url)), (top-k: by=response_time_ns, order=asc, w=1m), (group-count)
            """);
    Golden.check("explain.txt", Explain.render(result.plan().orElseThrow(), result.notes()));
  }

  /** The plan of the schema's golden sample has monitors on hosts and a rule. */
  @Test
  void showsRulesAndPlacement() throws IOException {
    Plan plan = Plans.fromJson(Files.readString(Golden.path("schema/golden/diff_group.plan.json")));
    assertThat(Explain.render(plan, List.of()))
        .contains("limit     5000 packets after match and sampling, over all monitors together\n")
        .contains("monitors  local-0 on this host, partition 0\n")
        .contains("          rack-2-1 on h17, partition 1\n")
        .contains(
            "rules     edge-3: priority=100,tcp,nw_dst=10.0.2.9,tp_dst=80 actions=output:7,goto_table:1\n");
  }

  @Test
  void jsonEqualsThePlan() {
    Plan plan =
        Fixtures.compile("PARSE http_get TO \"h1\" PROCESS (top-k: k=3)").plan().orElseThrow();
    assertThat(Plans.fromJson(Explain.json(plan))).isEqualTo(plan);
    assertThat(Explain.json(plan)).contains("TO \\\"h1\\\"\\nPROCESS (top-k: k=3)");
  }
}
