package io.tapline.control.cli.options;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.cli.options.TlsOptions.Service;
import io.tapline.control.testing.Certificates;
import io.tapline.flink.TlsFiles;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

class TlsOptionsTest {
  @TempDir private Path folder;

  /**
   * Tests relative paths, which Flink's managers could not use, since their working directories
   * differ.
   */
  @Test
  void pathsPassedToJobsAreAbsolute() throws Exception {
    Certificates.authority(folder, "ca").sign("own", "DNS:own");
    TlsOptions options = new TlsOptions();
    new CommandLine(options)
        .parseArgs(
            "--tls=KAFKA,REDIS",
            "--tls-ca=" + relative("ca.pem"),
            "--tls-certificate=" + relative("own.pem"),
            "--tls-key=" + relative("own.key"));
    options.check();
    TlsFiles files = options.of(Service.KAFKA).orElseThrow();
    for (String file : List.of(files.authorities(), files.certificate(), files.key())) {
      assertThat(Path.of(file)).isAbsolute().exists();
    }
    assertThat(options.of(Service.ZOOKEEPER)).isEmpty();
  }

  private String relative(String name) {
    return Path.of("")
        .toAbsolutePath()
        .relativize(folder.toAbsolutePath())
        .resolve(name)
        .toString();
  }
}
