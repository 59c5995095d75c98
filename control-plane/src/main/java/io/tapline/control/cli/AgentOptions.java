package io.tapline.control.cli;

import io.tapline.control.registry.AgentAccess;
import java.io.IOException;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** Which agents a server takes. */
final class AgentOptions {
  @Option(
      names = "--agents-tls-certificate",
      paramLabel = "FILE",
      description = "Take agents over TLS only: this host's certificate (PEM).")
  private Path certificate;

  @Option(names = "--agents-tls-key", paramLabel = "FILE", description = "Its key (PEM).")
  private Path key;

  @Option(
      names = "--agents-token-file",
      paramLabel = "FILE",
      description = "Take only agents that give one of these tokens, one a line.")
  private Path tokens;

  /**
   * Reads the files.
   *
   * @throws UsageException if the options don't fit each other, or a file can't be read
   */
  AgentAccess access() {
    if ((certificate == null) != (key == null)) {
      throw new UsageException("--agents-tls-certificate and --agents-tls-key go together");
    }
    if (certificate == null && tokens != null) {
      throw new UsageException(
          "--agents-token-file needs --agents-tls-certificate and --agents-tls-key: a token must not be read on its way");
    }
    try {
      return certificate == null ? AgentAccess.OPEN : AgentAccess.tls(certificate, key, tokens);
    } catch (IOException e) {
      throw new UsageException("--agents-tls-…, --agents-token-file: " + e.getMessage());
    }
  }
}
