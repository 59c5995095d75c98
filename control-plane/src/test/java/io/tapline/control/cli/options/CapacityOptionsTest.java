package io.tapline.control.cli.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.cli.console.UsageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class CapacityOptionsTest {
  @ParameterizedTest
  @CsvSource({"128, 12", "256, 12", "512, 42", "1024, 100", "4096, 100"})
  void theHeapLimitsTheNumberOfQueries(long heapMib, int queries) {
    assertThat(CapacityOptions.usual(heapMib << 20)).isEqualTo(queries);
    assertThat(CapacityOptions.maxQueriesFor(heapMib << 20)).isGreaterThanOrEqualTo(queries);
  }

  private static CapacityOptions parsed(String... words) {
    CapacityOptions options = new CapacityOptions();
    new CommandLine(CommandLine.Model.CommandSpec.create().addMixin("capacity", mixin(options)))
        .parseArgs(words);
    return options;
  }

  private static CommandLine.Model.CommandSpec mixin(CapacityOptions options) {
    return CommandLine.Model.CommandSpec.forAnnotatedObject(options);
  }

  @Test
  void theOptionTakesPrecedence() {
    assertThat(parsed("--most-queries", "7").maxQueries(false)).isEqualTo(7);
    assertThat(parsed("--most-queries", "20").maxQueries(true)).isEqualTo(20);
    assertThat(parsed().maxQueries(true)).isEqualTo(12);
  }

  @Test
  void moreQueriesThanTheHeapAllowsAreAUsageError() {
    assertThatThrownBy(() -> parsed("--most-queries", "1000000").check())
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("need a heap larger")
        .hasMessageContaining("-Xmx");
    assertThatThrownBy(() -> parsed("--most-queries", "0").check())
        .isInstanceOf(UsageException.class);
  }
}
