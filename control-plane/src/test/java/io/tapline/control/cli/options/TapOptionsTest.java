package io.tapline.control.cli.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.taps.PortNames;
import io.tapline.control.Tap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TapOptionsTest {
  private static final PortNames PORTS =
      new PortNames(
          Inventory.fromYaml(
                  """
                  network:
                    switches: {leaf1: [h1], leaf2: [h2], spine1: []}
                    links: [[leaf1, spine1], [leaf1, spine1], [leaf2, spine1]]
                    ports: {leaf1: {h1: 1, spine1: [2, 3]}}
                  """)
              .ports());

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "leaf1:h1:arrivals=mon0 -> leaf1:1:arrivals=mon0",
        "LEAF1:2=mon0 -> leaf1:2=mon0",
        "leaf2:spine1:departures=./a:b=c.pcap -> leaf2:spine1:departures=./a:b=c.pcap",
        "leaf1=mon0 -> leaf1=mon0",
      })
  void portsAreResolvedByTheNetwork(String written, String resolved) {
    assertThat(TapOptions.resolved(new Tap(written), PORTS).text()).isEqualTo(resolved);
  }

  @Test
  void keepsPortNamesWithoutANetwork() {
    Tap tap = new Tap("sw1:eth2:arrivals=mon0");
    assertThat(TapOptions.resolved(tap, new PortNames(Inventory.empty().ports()))).isEqualTo(tap);
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "leaf3:h1=mon0 -> --tap leaf3:h1=mon0: unknown switch 'leaf3'; expected one of the inventory's switches: leaf1, leaf2, spine1; did you mean leaf1?",
        "leaf9=mon0 -> --tap leaf9=mon0: unknown switch 'leaf9'; expected one of the inventory's switches: leaf1, leaf2, spine1; did you mean leaf1?",
        "leaf1:eth2=mon0 -> --tap leaf1:eth2=mon0: leaf1 has no link to 'eth2'; expected a port of leaf1: 1 (h1), 2 (spine1), 3 (spine1)",
        "leaf1:spine1=mon0 -> --tap leaf1:spine1=mon0: 2 links lead from leaf1 to spine1; expected leaf1:2 or leaf1:3",
        "leaf1:7:arrivals=mon0 -> --tap leaf1:7:arrivals=mon0: leaf1 has no link at port 7; expected a port of leaf1: 1 (h1), 2 (spine1), 3 (spine1)",
      })
  void unknownNamesListTheExistingOnes(String written, String message) {
    assertThatThrownBy(() -> TapOptions.resolved(new Tap(written), PORTS)).hasMessage(message);
  }
}
