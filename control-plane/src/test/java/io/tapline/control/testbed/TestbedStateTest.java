package io.tapline.control.testbed;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TestbedStateTest {
  private static TestbedState state(List<String> polled) {
    return new TestbedState(
        "tl", 4, 0, 0, false, polled, null, 6653, true, Agents.none(), true, List.of(), Map.of());
  }

  @Test
  void isReadAsItWasWritten(@TempDir Path folder) throws Exception {
    TestbedState written = state(List.of("core-0", "edge-0-0"));
    written.write(folder);
    assertThat(TestbedState.read(folder)).contains(written);
    assertThat(written.wants(state(List.of("edge-0-0", "core-0")))).isTrue();
    assertThat(written.wants(state(List.of("core-0")))).isFalse();
  }

  /** Tests the state file of an earlier version, whose testbed can still be taken down. */
  @Test
  void statesOfEarlierVersionsHaveNoPolledSwitches(@TempDir Path folder) throws Exception {
    state(List.of()).write(folder);
    Path file = folder.resolve("testbed.json");
    ObjectMapper mapper = new ObjectMapper();
    ObjectNode earlier = (ObjectNode) mapper.readTree(file.toFile());
    assertThat(earlier.remove("polled")).isNotNull();
    mapper.writeValue(file.toFile(), earlier);
    assertThat(TestbedState.read(folder).orElseThrow().plan().hasDpdk()).isFalse();
  }
}
