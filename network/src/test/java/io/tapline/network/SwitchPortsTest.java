package io.tapline.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class SwitchPortsTest {
  private static SwitchPorts.Builder network() {
    return new SwitchPorts.Builder()
        .addSwitch("s1")
        .addSwitch("s2")
        .addLink("s1", "h1")
        .addLink("s1", "s2")
        .addLink("s1", "s2");
  }

  @Test
  void linksHavePortsAtBothSwitches() {
    SwitchPorts ports = network().build();
    assertThat(ports.switches()).containsExactly("s1", "s2");
    assertThat(ports.of("s1"))
        .extracting(SwitchPorts.Port::tapName)
        .containsExactly("h1", "s2", "s2");
    assertThat(ports.of("s2")).extracting(SwitchPorts.Port::tapName).containsExactly("s1", "s1");
    assertThat(ports.of("h1")).isEmpty();
    assertThat(SwitchPorts.NONE.isEmpty()).isTrue();
  }

  @Test
  void portsAreNumbered() {
    SwitchPorts ports =
        network().number("s1", "s2", List.of(7, 4)).number("s1", "h1", List.of(1)).build();
    assertThat(ports.of("s1")).extracting(SwitchPorts.Port::tapName).containsExactly("1", "7", "4");
    assertThat(ports.of("s1")).extracting(SwitchPorts.Port::toString).contains("7 (s2)");
    assertThat(ports.of("s2")).noneMatch(SwitchPorts.Port::isNumbered);
  }

  @Test
  void invalidNumbersAreRejected() {
    assertThatThrownBy(() -> network().number("s1", "s2", List.of(7)))
        .hasMessage(
            "the number of ports given (1) differs from the number of links from s1 to s2 (2)");
    assertThatThrownBy(() -> network().number("s1", "s2", List.of(7, 7)))
        .hasMessage("port 7 of s1 is given twice");
    assertThatThrownBy(() -> network().number("s9", "s2", List.of(7)))
        .hasMessage(
            "the number of ports given (1) differs from the number of links from s9 to s2 (0)");
  }
}
