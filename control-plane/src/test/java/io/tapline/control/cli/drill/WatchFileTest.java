package io.tapline.control.cli.drill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ArrayNode;
import io.tapline.control.cli.console.UsageException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WatchFileTest {
  @TempDir private Path folder;

  private ArrayNode read(String yaml) throws Exception {
    Path file = folder.resolve("watches.yaml");
    Files.writeString(file, yaml);
    return WatchFile.read(file);
  }

  @Test
  void keysAreThoseOfTheOptions() throws Exception {
    ArrayNode watches =
        read(
            """
            - filter: tcp_flags == 2
              group_by: [src_ip]
              when: COUNT > 100
              window: 1s
              every: 10ms
              hosts: [web-1]
            - {aggregate: SUM(bytes), severity: critical, together: true}
            - {when: count(syn) > 5, after: 3, clear: count(syn) < 2, cooldown: 5ms}
            """);
    assertThat(watches.get(0).toString())
        .isEqualTo(
            """
            {"filter":"tcp_flags == 2","group_by":["src_ip"],"when":"COUNT > 100",\
            "window_ns":1000000000,"every_ns":10000000,"nodes":["web-1"]}\
            """);
    assertThat(watches.get(1).toString())
        .isEqualTo("{\"aggregate\":\"SUM(bytes)\",\"severity\":\"critical\",\"together\":true}");
    assertThat(watches.get(2).toString())
        .isEqualTo(
            """
            {"when":"count(syn) > 5","after":3,"clear":"count(syn) < 2","cooldown_ns":5000000}\
            """);
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "filter: a -> it must be a list of watches",
        "[] -> it must be a list of watches",
        "[7] -> watch 1 has no keys; expected some of after, aggregate, clear",
        "[{filter: a}, {filtre: b}] -> watch 2: unknown key 'filtre'; expected some of after, aggregate",
        "[{every: 10}] -> watch 1, every: 10 is not a duration: write it as 1ms",
        "[{filter: a} -> watches.yaml:1: ",
      })
  void wrongFilesAreErrors(String yaml, String message) {
    assertThatThrownBy(() -> read(yaml))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("watches.yaml")
        .hasMessageContaining(message);
  }

  @Test
  void aMissingFileIsAnError() {
    assertThatThrownBy(() -> WatchFile.read(folder.resolve("none.yaml")))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("there is no file");
  }
}
