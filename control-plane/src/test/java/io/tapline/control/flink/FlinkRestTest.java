package io.tapline.control.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FlinkRestTest {
  @TempDir Path folder;

  @Test
  void anUnreachableClusterIsNamed() throws Exception {
    Path jar = Files.createFile(folder.resolve("job.jar"));
    assertThatThrownBy(() -> FlinkSession.connect("http://127.0.0.1:1", TlsFiles.NONE, jar, ""))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("Flink at http://127.0.0.1:1 can't be used: no answer");
  }

  @Test
  void theInnermostCauseOfAStackTraceIsReported() {
    String trace =
        """
        org.apache.flink.runtime.JobException: Recovery is suppressed
        \tat org.apache.flink.A.b(A.java:1)
        Caused by: java.io.IOException: broken: twice
        \tat org.apache.flink.C.d(C.java:2)
        Caused by: java.lang.IllegalArgumentException: plan: it does not name a topic
        \t... 3 more
        """;
    assertThat(FlinkRest.rootOf(trace)).isEqualTo("plan: it does not name a topic");
    assertThat(FlinkRest.rootOf("Job not found")).isEqualTo("Job not found");
  }
}
