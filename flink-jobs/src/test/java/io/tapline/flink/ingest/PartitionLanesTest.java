package io.tapline.flink.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.flink.QuerySpec;
import io.tapline.schema.proto.TupleBatch;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

class PartitionLanesTest {
  private static final QuerySpec QUERY =
      new QuerySpec("q", "t", List.of("http_get"), List.of("m"), List.of(0), List.of(), List.of());

  private final PartitionLanes lanes = new PartitionLanes(QUERY);

  private static TupleBatch batch(int lane, int of, long sequence, long watermarkNs, boolean end) {
    return TupleBatch.newBuilder()
        .setQuery("q")
        .setMonitor("m")
        .setIncarnation(1)
        .setLane(lane)
        .setLanes(of)
        .setSequence(sequence)
        .setWatermarkNs(watermarkNs)
        .setEndOfStream(end)
        .build();
  }

  @Test
  void aLaneThatWasNotHeardYetHoldsTimeAndEndBack() throws IOException {
    lanes.admit(batch(0, 2, 0, 100, true));
    assertThat(lanes.ended(0)).isFalse();
    assertThat(lanes.markNs(0)).isEqualTo(Long.MIN_VALUE);

    PartitionLanes restored = new PartitionLanes(QUERY);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    lanes.write(new DataOutputStream(bytes));
    restored.read(new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
    for (PartitionLanes each : new PartitionLanes[] {lanes, restored}) {
      each.admit(batch(1, 2, 0, 50, false));
      assertThat(each.markNs(0)).isEqualTo(50);
      assertThat(each.ended(0)).isFalse();
      each.admit(batch(1, 2, 1, 120, true));
      assertThat(each.markNs(0)).isEqualTo(100);
      assertThat(each.ended(0)).isTrue();
    }
  }

  @Test
  void aBatchThatSaysNothingOfLanesIsOfTheOnlyOne() {
    lanes.admit(batch(0, 0, 0, 100, true));
    assertThat(lanes.ended(0)).isTrue();
  }
}
