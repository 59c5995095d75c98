package io.tapline.control.query;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.packets.TriggerCost;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.PacketQuantile;
import io.tapline.schema.proto.PacketTrigger;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TriggerAdmissionTest {
  /** With this traffic, a monitor has time for one query with the trigger. */
  private static final TriggerCost.Traffic TRAFFIC = new TriggerCost.Traffic(2_000_000, 1_000);

  /** A trigger on the 99th percentile of packet sizes. */
  private static final PacketTrigger EXPENSIVE =
      PacketTrigger.newBuilder()
          .setEvery(Durations.fromMillis(10))
          .addWhen(
              ConditionStep.newBuilder()
                  .setQuantile(
                      PacketQuantile.newBuilder()
                          .setMeasure(ConditionStep.Measure.BYTES)
                          .setShare(0.99)))
          .build();

  private final TriggerAdmission admission = new TriggerAdmission(Optional.of(TRAFFIC));

  private String put(String query, String host, int triggers) {
    return put(query, Set.of(host), triggers, TriggerQuota.NONE.core());
  }

  private String put(String query, Set<String> hosts, int triggers, double core) {
    return admission.put(query, hosts, Collections.nCopies(triggers, EXPENSIVE), core);
  }

  @Test
  void theQueriesOfAMonitorAreAddedUp() {
    assertThat(put("a-1", "h1", 1)).isEmpty();
    assertThat(put("b-2", "h1", 1))
        .startsWith("the monitor on h1 has no time for these triggers: testing 1 trigger")
        .contains("at 2.00 million packets/s", "Triggers of other queries take ")
        .containsPattern("all together would take [0-9]+ %$");
    assertThat(put("b-2", "h2", 1)).isEmpty();
    admission.remove("a-1");
    assertThat(put("a-3", "h1", 1)).isEmpty();
  }

  @Test
  void oneMonitorWithoutTimeIsEnoughToRefuse() {
    assertThat(put("a-1", "h2", 1)).isEmpty();
    assertThat(put("b-2", Set.of("h1", "h2", "h3"), 1, TriggerQuota.NONE.core()))
        .contains("the monitor on h2");
    assertThat(put("a-3", "h1", 1)).as("nothing of b-2 remains").isEmpty();
  }

  @Test
  void triggersThatReplaceOthersOfTheirQueryDoNotCountTwice() {
    assertThat(put("a-1", "h1", 1)).isEmpty();
    assertThat(put("a-1", "h1", 2)).isEmpty();
    assertThat(put("a-1", "h1", 16_000)).contains("testing 16,000 triggers");
    assertThat(put("a-1", "h1", 1)).isEmpty();
  }

  @Test
  void aTenantsTriggersTakeNoMoreThanItsQuota() {
    double enough = 0.5;
    assertThat(put("web-1", Set.of("h1"), 1, enough / 10))
        .startsWith("testing 1 trigger")
        .containsPattern(
            "With all triggers of tenant web on h1, that is [0-9]+ % beside parsing, and the tenant's quota is 5 %$");
    assertThat(put("web-1", Set.of("h1"), 1, enough)).isEmpty();
    assertThat(put("web-2", Set.of("h1"), 1, enough)).contains("all triggers of tenant web on h1");
    assertThat(put("web-3", Set.of("h2"), 1, enough)).as("another monitor").isEmpty();
    assertThat(put("webs-1", Set.of("h1"), 1, enough))
        .as("another tenant, whose own quota would be enough")
        .startsWith("the monitor on h1 has no time");
  }

  /** A server with less expected traffic may have admitted more before. */
  @Test
  void fewerTriggersAreNeverRefused() {
    admission.restore("a-1", Set.of("h1"), Collections.nCopies(16_000, EXPENSIVE));
    admission.restore("b-2", Set.of("h1"), Collections.nCopies(16_000, EXPENSIVE));
    assertThat(put("a-1", "h1", 15_000)).isEmpty();
    assertThat(put("a-1", "h1", 15_001)).isNotEmpty();
    assertThat(put("a-1", "h1", 0)).isEmpty();
  }

  @Test
  void nothingIsRefusedWithoutExpectedTraffic() {
    TriggerAdmission unknown = new TriggerAdmission(Optional.empty());
    for (int i = 0; i < 10; i++) {
      assertThat(unknown.put("q-" + i, Set.of("h1"), List.of(EXPENSIVE), 0)).isEmpty();
    }
  }

  @Test
  void aRefusalPointsAtTheTriggers() {
    QueryError error =
        TriggerAdmission.error("PARSE packets\nTO h1 Process (trigger)", "there is no time");
    assertThat(error.line()).isEqualTo(2);
    assertThat(error.column()).isEqualTo(7);
    assertThat(error.length()).isEqualTo(7);
    assertThat(error.message()).isEqualTo("there is no time");
    assertThat(error.expected()).startsWith("at most 80 % of a core for all queries");
  }
}
