package io.tapline.control.cli.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.cli.console.UsageException;
import java.time.Instant;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MomentTest {
  private static final Instant NOW = Instant.parse("2026-11-22T00:00:00Z");

  @ParameterizedTest
  @CsvSource({
    "1795204789803343001, 1795204789803343001",
    "5, 5",
    "2026-11-21T23:59:59.000000001Z, 1795305599000000001",
    "90s, 1795305510000000000",
    "5m, 1795305300000000000",
    "1h, 1795302000000000000",
    "250ms, 1795305599750000000",
  })
  void acceptsTheFormatsOfPeopleAndPrograms(String text, long nanoseconds) {
    assertThat(Moment.nanoseconds("--from", text, NOW)).isEqualTo(nanoseconds);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "yesterday", "-5m", "5d", "99999999999999999999", "2026-11-22"})
  void invalidTimesAreNamed(String text) {
    assertThatThrownBy(() -> Moment.nanoseconds("--from", text, NOW))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("--from " + text);
  }
}
