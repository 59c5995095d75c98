package io.tapline.control.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** Which server a command talks to. */
final class ServerOption {
  @Option(
      names = "--server",
      paramLabel = "URL",
      defaultValue = "${env:TAPLINE_SERVER:-http://127.0.0.1:8480}",
      description = "The server; also taken from TAPLINE_SERVER. Default: http://127.0.0.1:8480.")
  private String url;

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description = "File with the token; without it TAPLINE_TOKEN is taken.")
  private Path tokenFile;

  ApiClient client() {
    return new ApiClient(url, token());
  }

  private String token() {
    if (tokenFile == null) {
      return System.getenv().getOrDefault("TAPLINE_TOKEN", "");
    }
    try {
      return Files.readString(tokenFile).strip();
    } catch (IOException e) {
      throw new UsageException("--token-file " + tokenFile + " can't be read: " + e.getMessage());
    }
  }
}
