package io.tapline.control.query;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.registry.AgentState;
import io.tapline.control.registry.ClockOffset;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import java.util.List;
import org.junit.jupiter.api.Test;

class ClocksTest {
  private static final Plan PLAN =
      Plans.fromJson(
          """
          {"format": 1, "query": "q", "processors": [{"window": {"size": "10s", "slide": "1s"}},
           {"window": {"slide": "10s"}}]}
          """);

  @Test
  void clocksThatDifferByMoreThanOnePercentOfTheSlideAreReported() {
    assertThat(Clocks.note(PLAN, List.of(host("h1", 0, 1), host("h2", 9, 0)))).isEmpty();
    assertThat(Clocks.note(PLAN, List.of(host("h1", 4, 1), host("h2", 30, 2), host("h3", -3, 1))))
        .hasValue(
            "the clock of h2 is 33.0 ms ahead of that of h3 (±3.0 ms), more than 1 % of the 1000 ms by which"
                + " windows advance: simultaneous tuples may fall into different windows");
  }

  @Test
  void anInaccurateMeasurementIsReported() {
    assertThat(Clocks.note(PLAN, List.of(host("h1", 0, 9), host("h2", 0, 9)))).isPresent();
  }

  @Test
  void oneHostOrUnmeasuredHostsHaveNoDifference() {
    assertThat(Clocks.note(PLAN, List.of(host("h1", 4_000, 1)))).isEmpty();
    assertThat(Clocks.note(PLAN, List.of())).isEmpty();
  }

  private static AgentState host(String name, long aheadMs, long errorMs) {
    ClockOffset.Estimate clock = new ClockOffset.Estimate(aheadMs * 1_000_000, errorMs * 1_000_000);
    return new AgentState(
        name, true, 1, "", "", List.of(), false, true, 0, List.of(), "", 0, 1, 1, clock, List.of());
  }
}
