package io.tapline.control.replicas;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PoolTest {
  private static final String TEXT =
      """
      name: videos
      redis: 10.30.0.1:6379
      upper_per_second: 10
      lower_per_second: 4
      back_off: 1500ms
      servers:
        - {name: web1, address: "10.30.0.11:80"}
        - {name: web2, address: "web2.example:8080", start: [start, web2], stop: [stop, web2]}
      """;

  @Test
  void everyMemberIsParsed() {
    Pool pool = Pool.read(TEXT);
    assertThat(pool.name()).isEqualTo("videos");
    assertThat(pool.redis()).isEqualTo("10.30.0.1:6379");
    assertThat(pool.thresholds()).isEqualTo(new Thresholds(10, 4, 1_500_000_000L));
    assertThat(pool.servers())
        .containsExactly(
            new WebServer("web1", "10.30.0.11:80", List.of(), List.of()),
            new WebServer(
                "web2", "web2.example:8080", List.of("start", "web2"), List.of("stop", "web2")));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "name: videos|name: Vi deos|name: use lower-case letters",
        "redis: 10.30.0.1:6379|redis: here|redis: HOST:PORT, or unix:/PATH",
        "lower_per_second: 4|lower_per_second: 6|at least twice",
        "lower_per_second: 4|lower: 4|unknown member \"lower\"",
        "back_off: 1500ms|back_off: soon|back_off: write it as 500ms",
        "start: [start, web2]|start: start web2|server 2: start, stop: write lists",
        "web2.example:8080|web2.example|server 2: address: HOST:PORT",
        "web2.example:8080|web2.example:99999|server 2: address: HOST:PORT",
        "web2.example:8080|10.30.0.11:80|server 2: another server has the same name or address",
        "name: web2|nam: web2|server 2: unknown member \"nam\""
      })
  void errorsAreReported(String right, String wrong, String message) {
    assertThat(TEXT).contains(right);
    assertThatThrownBy(() -> Pool.read(TEXT.replace(right, wrong)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "- a", "name: [", "name: a"})
  void invalidPoolsAreRejected(String text) {
    assertThatThrownBy(() -> Pool.read(text)).isInstanceOf(IllegalArgumentException.class);
  }
}
