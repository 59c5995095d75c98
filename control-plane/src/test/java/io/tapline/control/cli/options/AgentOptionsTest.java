package io.tapline.control.cli.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.cli.console.UsageException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

class AgentOptionsTest {
  private static AgentOptions parsed(String... words) {
    AgentOptions options = new AgentOptions();
    new CommandLine(
            CommandLine.Model.CommandSpec.create()
                .addMixin("agents", CommandLine.Model.CommandSpec.forAnnotatedObject(options)))
        .parseArgs(words);
    return options;
  }

  @Test
  void theGracePeriodIsADuration() {
    assertThat(parsed().grace()).isEqualTo(Duration.ofSeconds(20));
    assertThat(parsed("--agents-grace", "2m").grace()).isEqualTo(Duration.ofMinutes(2));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "20", "4s", "25h", "999999999h"})
  void invalidGracePeriodsAreReported(String text) {
    assertThatThrownBy(() -> parsed("--agents-grace", text).grace())
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("--agents-grace " + text);
  }
}
