package io.tapline.control.query;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.registry.AgentState;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import java.util.List;
import org.junit.jupiter.api.Test;

class PolledTimesTest {
  private static final List<AgentState> HOSTS =
      List.of(
          host("h3", true, true),
          host("h1", true, true),
          host("h2", true, false),
          host("h4", false, true));

  private static AgentState host(String name, boolean isUp, boolean polled) {
    return new AgentState(
        name, isUp, 1, "", "", List.of(), polled, true, 0, List.of(), "", 0, 1, 1, null, List.of());
  }

  private static Plan plan(String monitors) {
    return Plans.fromJson(
        "{\"format\": 1, \"query\": \"q\", \"monitors\": [%s]}".formatted(monitors));
  }

  @Test
  void theHostsOfTheQueryThatPollAreNamed() {
    assertThat(PolledTimes.note(plan("{\"host\": \"h1\"}, {\"host\": \"h2\"}"), HOSTS))
        .hasValueSatisfying(
            note ->
                assertThat(note)
                    .startsWith("packets are timestamped when they are polled on h1, so waiting")
                    .contains("--interface"));
    assertThat(PolledTimes.note(plan(""), HOSTS).orElseThrow()).contains("on h1, h3, so");
  }

  @Test
  void packetsThatTheKernelStampsNeedNoNote() {
    assertThat(PolledTimes.note(plan("{\"host\": \"h2\"}"), HOSTS)).isEmpty();
    assertThat(PolledTimes.note(plan("{\"host\": \"h4\"}"), HOSTS)).isEmpty();
  }
}
