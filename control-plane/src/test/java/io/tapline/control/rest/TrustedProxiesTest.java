package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TrustedProxiesTest {
  private static final TrustedProxies FRONTS =
      TrustedProxies.of(List.of("10.1.0.0/16", "2001:db8:1::/48", "localhost"));

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "10.1.0.7 | 192.0.2.5 | 192.0.2.5",
        "10.1.0.7 | 192.0.2.5:4711 | 192.0.2.5",
        "10.1.0.7 | 203.0.113.9, 192.0.2.5, 10.1.9.9 | 192.0.2.5",
        "10.1.0.7 | ::ffff:192.0.2.5, ::ffff:10.1.9.9 | 192.0.2.5",
        "10.1.0.7 | 10.1.0.1, 10.1.0.2 | 10.1.0.1",
        "2001:db8:1::7 | [2001:db8:2::0:1]:80 | 2001:db8:2::1",
        "[2001:db8:1::7] | 2001:db8:2::1 | 2001:db8:2::1",
        "127.0.0.1 | 192.0.2.5 | 192.0.2.5",
        // These requests do not come from a trusted proxy.
        "10.2.0.7 | 192.0.2.5 | 10.2.0.7",
        "2001:db8:2::7 | 192.0.2.5 | 2001:db8:2::7",
        // Proxies do not write such headers.
        "10.1.0.7 | 192.0.2.5, unknown | 10.1.0.7",
        "10.1.0.7 | 192.0.2.5, 10.1.0.8 from=1.2.3.4 | 10.1.0.7",
        "10.1.0.7 | 192.0.2.5, | 10.1.0.7",
        "10.1.0.7 | 192.0.2.5, 300.1.1.1, 10.1.0.9 | 10.1.0.9",
      })
  void trustsEntriesUpToTheFirstUntrustedProxy(String peer, String header, String client) {
    assertThat(FRONTS.client(peer, List.of(header))).isEqualTo(client);
  }

  @Test
  void repeatedHeadersAreJoined() {
    assertThat(FRONTS.client("10.1.0.7", List.of("203.0.113.9", "192.0.2.5")))
        .isEqualTo("192.0.2.5");
    assertThat(FRONTS.client("10.1.0.7", List.of())).isEqualTo("10.1.0.7");
  }

  @Test
  void onlyNamedProxiesAreTrusted() {
    assertThat(TrustedProxies.NONE.client("127.0.0.1", List.of("192.0.2.5")))
        .isEqualTo("127.0.0.1");
    assertThat(TrustedProxies.of(List.of("nobody.invalid")).client("10.1.0.7", List.of("1.2.3.4")))
        .isEqualTo("10.1.0.7");
  }

  @ParameterizedTest
  @ValueSource(strings = {"10.1.0.7/16", "10.1.0", "10.1.0.0/33", "", "a b", "-x", "1.2.3.4.5"})
  void invalidProxiesAreReported(String text) {
    assertThatThrownBy(() -> TrustedProxies.of(List.of(text)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'" + text + "'");
  }
}
