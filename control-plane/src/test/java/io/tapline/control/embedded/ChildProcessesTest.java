package io.tapline.control.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.ChildProcesses;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ChildProcessesTest {
  private static String output(Process process) throws Exception {
    return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
  }

  @Test
  void theCommandKeepsItsProcessIdAndArguments() throws Exception {
    Process process =
        ChildProcesses.start(
            new ProcessBuilder(), List.of("sh", "-c", "echo $$ \"$1\"", "sh", "a  b"));
    assertThat(output(process)).isEqualTo(process.pid() + " a  b");
    assertThat(process.waitFor()).isZero();
  }

  @Test
  void theStartingThreadMayEnd() throws Exception {
    Process[] started = new Process[1];
    Thread thread = new Thread(() -> started[0] = sleeping());
    thread.start();
    thread.join();
    assertThat(started[0].waitFor(500, TimeUnit.MILLISECONDS))
        .as("ended with the thread")
        .isFalse();
    ChildProcesses.stop(started[0]);
  }

  private static Process sleeping() {
    try {
      return ChildProcesses.start(new ProcessBuilder(), List.of("sleep", "60"));
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Test
  void stopEndsTheProcess() {
    Process process = sleeping();
    ChildProcesses.stop(process);
    assertThat(process.isAlive()).isFalse();
  }

  @Test
  void aMissingProgramIsReported() throws Exception {
    Process process = ChildProcesses.start(new ProcessBuilder(), List.of("/nonexistent/program"));
    assertThat(process.waitFor()).isEqualTo(127);
  }
}
