package io.tapline.control.cli.options;

import io.tapline.control.HashKeys;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import picocli.CommandLine.Option;

/** Option for the secret keys with which monitors hash. */
public final class HashKeyOptions {
  @Option(
      names = "--hash-key-file",
      paramLabel = "FILE",
      description =
          "File with the secret hash key, 32 hexadecimal digits, the same as for MultiLog nodes; a second key, if present, is used for strings. Default: a well-known key; a server hashes strings with a random one.")
  private Path file;

  /**
   * Reads the file; returns empty if none was given. Warns if it is world-readable.
   *
   * @throws UsageException if the file can't be read, or its content is invalid
   */
  public Optional<HashKeys> read(Console console) {
    if (file == null) {
      return Optional.empty();
    }
    try {
      HashKeys keys = HashKeys.read(file);
      if (HashKeys.isOpenToAll(file)) {
        console.hint(
            "warning: --hash-key-file %s: every user of this host can read it; fix this with chmod o-r"
                .formatted(file));
      }
      return Optional.of(keys);
    } catch (IOException e) {
      throw new UsageException("--hash-key-file " + e.getMessage());
    }
  }
}
