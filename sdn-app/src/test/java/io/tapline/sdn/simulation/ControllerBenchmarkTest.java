package io.tapline.sdn.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

class ControllerBenchmarkTest {
  @Test
  void rulesAreInstalledOnceAndReconciledWithoutMessages() throws IOException {
    List<ControllerBenchmark.Row> rows = new ControllerBenchmark(10, 20).run(text -> {});
    assertThat(rows)
        .extracting(ControllerBenchmark.Row::messages)
        .containsExactly(30L, 200L, 0L, 200L);
  }
}
