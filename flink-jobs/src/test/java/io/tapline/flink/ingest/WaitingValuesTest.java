package io.tapline.flink.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.flink.group.Exemplar;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.junit.jupiter.api.Test;

class WaitingValuesTest {
  @Test
  void theEarliestIsFirstInAnyOrderOfArrival() throws Exception {
    WaitingValues values = new WaitingValues();
    List<Long> times = new ArrayList<>();
    Random random = new Random(3);
    for (int i = 0; i < 1_000; i++) {
      long time = random.nextInt(10) == 0 ? random.nextInt(1_000) : i;
      times.add(time);
      values.add(value(time));
    }
    times.sort(null);
    assertThat(taken(values, 300)).isEqualTo(times.stream().filter(time -> time < 300).toList());
    WaitingValues restored = copy(values);
    assertThat(restored.size()).isEqualTo(values.size());
    assertThat(taken(restored, Long.MAX_VALUE))
        .isEqualTo(times.stream().filter(time -> time >= 300).toList());
    assertThat(restored.size()).isZero();
  }

  private static List<Long> taken(WaitingValues values, long previousValue) {
    List<Long> taken = new ArrayList<>();
    for (Waiting value = values.pollBefore(previousValue);
        value != null;
        value = values.pollBefore(previousValue)) {
      taken.add(value.timeNs());
    }
    return taken;
  }

  private static WaitingValues copy(WaitingValues values) throws Exception {
    DataOutputSerializer out = new DataOutputSerializer(1024);
    values.write(out);
    WaitingValues copy = new WaitingValues();
    copy.read(new DataInputDeserializer(out.getCopyOfBuffer()));
    return copy;
  }

  private static Waiting value(long timeNs) {
    byte[] address = {10, 0, 0, 1};
    Exemplar flow = new Exemplar(1, 2, address, 3, address, 80, timeNs, timeNs, "m0");
    return new Waiting(timeNs, new FlowId(1, 2), new byte[0][], PairedValue.of(7), 1, flow);
  }
}
