package io.tapline.control.cli.options;

import io.tapline.control.HashKeys;
import io.tapline.control.JobKey;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import picocli.CommandLine.Option;

/** Option for the secret from which the passwords of stream jobs are derived. */
final class JobKeyOptions {
  @Option(
      names = "--job-key-file",
      paramLabel = "FILE",
      description =
          "File whose first line is a secret of 16 or more characters, from which the passwords that stream jobs use for Kafka and Redis are derived. Must be the same for all control planes. Default: a random secret at each start.")
  private Path file;

  boolean isGiven() {
    return file != null;
  }

  /**
   * Reads the file; returns empty if none was given. Warns if it is world-readable.
   *
   * @throws UsageException if the file can't be read, or its content is invalid
   */
  Optional<JobKey> read(Console console) {
    if (file == null) {
      return Optional.empty();
    }
    try {
      JobKey key = JobKey.read(file);
      if (HashKeys.isOpenToAll(file)) {
        console.hint(
            "warning: --job-key-file %s: every user of this host can read it; fix this with chmod o-r"
                .formatted(file));
      }
      return Optional.of(key);
    } catch (IOException e) {
      throw new UsageException("--job-key-file " + e.getMessage());
    }
  }
}
