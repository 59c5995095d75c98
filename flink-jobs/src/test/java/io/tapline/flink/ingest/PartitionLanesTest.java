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

  private static TupleBatch batch(
      int lane, int lanes, long sequence, long watermarkNs, boolean end) {
    return TupleBatch.newBuilder()
        .setQuery("q")
        .setMonitor("m")
        .setIncarnation(1)
        .setLane(lane)
        .setLanes(lanes)
        .setSequence(sequence)
        .setWatermarkNs(watermarkNs)
        .setEndOfStream(end)
        .build();
  }

  @Test
  void aLaneThatHasNotReportedDelaysTimeAndEnd() throws IOException {
    lanes.admit(batch(0, 2, 0, 100, true));
    assertThat(lanes.ended(0)).isFalse();
    assertThat(lanes.markNs(0)).isEqualTo(Long.MIN_VALUE);

    PartitionLanes restored = new PartitionLanes(QUERY);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    lanes.write(new DataOutputStream(bytes));
    restored.read(new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
    for (PartitionLanes copy : new PartitionLanes[] {lanes, restored}) {
      copy.admit(batch(1, 2, 0, 50, false));
      assertThat(copy.markNs(0)).isEqualTo(50);
      assertThat(copy.ended(0)).isFalse();
      copy.admit(batch(1, 2, 1, 120, true));
      assertThat(copy.markNs(0)).isEqualTo(100);
      assertThat(copy.ended(0)).isTrue();
    }
  }

  private static TupleBatch of(int epoch, long incarnation, long sequence, long watermarkNs) {
    return batch(0, 1, sequence, watermarkNs, false).toBuilder()
        .setEpoch(epoch)
        .setIncarnation(incarnation)
        .build();
  }

  /**
   * Tests a host that takes over with a lower incarnation, as its monitor may have started long
   * before the one that died.
   */
  @Test
  void aHigherEpochRestartsWithAnyIncarnationAndFencesTheLowerOne() throws IOException {
    lanes.admit(of(1, 9, 0, 100));
    assertThat(lanes.admit(of(1, 9, 1, 200)).gap()).isNull();
    PartitionLanes.Admission taken = lanes.admit(of(2, 4, 0, 500));
    assertThat(taken.verdict()).isEqualTo(PartitionLanes.Verdict.ACCEPTED);
    assertThat(taken.gap()).isEqualTo(new PartitionLanes.Gap(200, 500));
    assertThat(taken.missing()).isZero();
    assertThat(lanes.admit(of(2, 4, 2, 600)).gap()).isNull();
    assertThat(lanes.admit(of(2, 4, 5, 700)).missing()).isEqualTo(2);
    PartitionLanes restored = new PartitionLanes(QUERY);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    lanes.write(new DataOutputStream(bytes));
    restored.read(new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
    for (PartitionLanes copy : new PartitionLanes[] {lanes, restored}) {
      assertThat(copy.markNs(0)).isEqualTo(700);
      TupleBatch lateBatch = of(1, 9, 2, 900).toBuilder().setEndOfStream(true).build();
      assertThat(copy.admit(lateBatch).verdict()).isEqualTo(PartitionLanes.Verdict.SUPERSEDED);
      assertThat(copy.ended(0)).isFalse();
      assertThat(copy.markNs(0)).isEqualTo(700);
    }
  }

  /**
   * Tests that monitors of a query are fenced individually, since they are reassigned one by one.
   */
  @Test
  void anEpochFencesItsOwnMonitorOnly() {
    QuerySpec two =
        new QuerySpec(
            "q", "t", List.of("http_get"), List.of("m", "n"), List.of(0, 0), List.of(), List.of());
    PartitionLanes bothLanes = new PartitionLanes(two);
    bothLanes.admit(of(1, 1, 0, 100));
    bothLanes.admit(of(2, 1, 0, 100).toBuilder().setMonitor("n").build());
    assertThat(bothLanes.admit(of(1, 1, 1, 200)).verdict())
        .isEqualTo(PartitionLanes.Verdict.ACCEPTED);
  }

  @Test
  void aBatchWithoutALaneBelongsToTheOnlyLane() {
    lanes.admit(batch(0, 0, 0, 100, true));
    assertThat(lanes.ended(0)).isTrue();
  }

  @Test
  void anAbsurdBatchChangesNothing() {
    lanes.admit(of(1, 1, 0, 100));
    long absurd = (1L << 32) + 2;
    TupleBatch otherLane = batch(7, 9, absurd, 100, false).toBuilder().setEpoch(1).build();
    TupleBatch newer = of(1, 2, absurd, 500).toBuilder().setWatchedSinceNs(400).build();
    for (TupleBatch tupleBatch : List.of(otherLane, newer, of(2, 1, absurd, 100))) {
      PartitionLanes.Admission refusedAdmission = lanes.admit(tupleBatch);
      assertThat(refusedAdmission.verdict()).isEqualTo(PartitionLanes.Verdict.ABSURD);
      assertThat(refusedAdmission.gap()).isNull();
    }
    assertThat(lanes.admit(of(1, 1, 1, 200)).verdict()).isEqualTo(PartitionLanes.Verdict.ACCEPTED);
    assertThat(lanes.markNs(0)).isEqualTo(200);
  }
}
