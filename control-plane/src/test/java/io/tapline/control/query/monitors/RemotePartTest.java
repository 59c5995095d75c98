package io.tapline.control.query.monitors;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Duration;
import io.tapline.schema.proto.Limit;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class RemotePartTest {
  private static final Limit NINETY =
      Limit.newBuilder().setDuration(Duration.newBuilder().setSeconds(90)).build();
  private static final long NOW_NS = 1_700_000_000_000_000_000L;
  private static final long MINUTE_NS = 60_000_000_000L;

  private static Plan plan(Limit limit) {
    return Plan.newBuilder()
        .setEpoch(1)
        .setLimit(limit)
        .addMonitors(Monitor.newBuilder().setId("h1").setHost("h1"))
        .build();
  }

  private static Plan moved(RemotePart part) {
    return part.next("h2", Match.getDefaultInstance());
  }

  @Test
  void theTimeOfALimitContinuesWhenAPartMoves() {
    OptionalLong endsAtNs = RemotePart.endsAtNs(NINETY, NOW_NS - MINUTE_NS, NOW_NS);
    RemotePart part = new RemotePart(plan(NINETY), endsAtNs);
    for (int epoch = 2; epoch < 5; epoch++) {
      part.becomesReady();
      Plan next = moved(part);
      assertThat(next.getEpoch()).isEqualTo(epoch);
      assertThat(next.getMonitors(0).getHost()).isEqualTo("h2");
      assertThat(next.getLimit().getDuration().getSeconds()).isLessThanOrEqualTo(30);
      part.becomes(next);
    }
  }

  @Test
  void anExceededLimitBecomesOneNanosecond() {
    OptionalLong endsAtNs = RemotePart.endsAtNs(NINETY, NOW_NS - 2 * MINUTE_NS, NOW_NS);
    Duration left = moved(new RemotePart(plan(NINETY), endsAtNs)).getLimit().getDuration();
    assertThat(left).isEqualTo(Duration.newBuilder().setNanos(1).build());
  }

  @Test
  void keepsTheLimitWithoutABeginningOrADuration() {
    assertThat(RemotePart.endsAtNs(NINETY, 0, NOW_NS)).isEmpty();
    assertThat(moved(new RemotePart(plan(NINETY), OptionalLong.empty())).getLimit())
        .isEqualTo(NINETY);
    assertThat(RemotePart.endsAtNs(Limit.newBuilder().setPackets(5).build(), NOW_NS, NOW_NS))
        .isEmpty();
  }

  @Test
  void aGrantIsSpentOnTheHostThatTakesOver() {
    Limit limit = Limit.newBuilder().setPackets(5).setLeased(true).build();
    RemotePart part = new RemotePart(plan(limit), OptionalLong.empty());
    assertThat(part.grant(5)).isFalse();
    assertThat(part.grant(3_000_000_000L)).isTrue();
    part.becomes(moved(part));
    assertThat(part.granted()).isEqualTo(3_000_000_000L);
    assertThat(Integer.toUnsignedLong(part.plan().getLimit().getSpent())).isEqualTo(3_000_000_000L);
  }
}
