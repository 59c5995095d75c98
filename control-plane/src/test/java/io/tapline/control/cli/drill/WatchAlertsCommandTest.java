package io.tapline.control.cli.drill;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests that printed alerts show the values and bounds that are known. */
class WatchAlertsCommandTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "'value': 7, 'low': 7.0, 'certain': true, 'incomplete': false | value 7  alert a1",
        "'low': 5.0, 'high': 9.0, 'certain': false | value between 5.0 and 9.0  alert a1  (uncertain)",
        "'low': 5.0, 'certain': true, 'incomplete': true | value at least 5.0  alert a1  (window incomplete)",
        "'high': 9.0, 'certain': true | value at most 9.0  alert a1",
        "'value': 7, 'late': true | value 7  alert a1  (late)",
      })
  void valuesAndTheirDoubtsAreShown(String fields, String end) throws Exception {
    String alert =
        "{'window_start_ns': 0, 'severity': 'info', 'watch': 'w', 'node': 'h1', 'id': 'a1', 'key': {}, %s}"
            .formatted(fields);
    assertThat(WatchAlertsCommand.line(new ObjectMapper().readTree(alert.replace('\'', '"'))))
        .isEqualTo("1970-01-01T00:00:00Z  info      w on h1  " + end);
  }
}
