package io.tapline.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JobKeyTest {
  @TempDir Path folder;

  @Test
  void passwordsDependOnSecretServiceAndQuery() throws Exception {
    // printf 'kafka job q1' | openssl dgst -sha256 -hmac 0123456789abcdef -binary | basenc
    // --base64url
    JobKey key = JobKey.read(file("0123456789abcdef\n"));
    assertThat(key.password("kafka", "q1"))
        .isEqualTo("IkF5t_SrQ_AaUgnbMOc_TP6YSswYdm_cBoQxlQ9EZlA");
    assertThat(key.password("redis", "q1")).isNotEqualTo(key.password("kafka", "q1"));
    assertThat(key.password("kafka", "q2")).isNotEqualTo(key.password("kafka", "q1"));
    assertThat(JobKey.random().password("kafka", "q1"))
        .isNotEqualTo(JobKey.random().password("kafka", "q1"));
  }

  @Test
  void aShortSecretIsRejectedWithoutBeingPrinted() throws Exception {
    Path file = file("too short\n");
    assertThatThrownBy(() -> JobKey.read(file))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("16 characters")
        .hasMessageNotContaining("too short");
    assertThatThrownBy(() -> JobKey.read(folder.resolve("none")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("does it exist?");
  }

  private Path file(String text) throws IOException {
    return Files.writeString(folder.resolve("job.key"), text);
  }
}
