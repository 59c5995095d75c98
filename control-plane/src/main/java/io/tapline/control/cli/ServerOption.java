package io.tapline.control.cli;

import picocli.CommandLine.Option;

/** Which server a command talks to. */
final class ServerOption {
  @Option(
      names = "--server",
      paramLabel = "URL",
      defaultValue = "${env:TAPLINE_SERVER:-http://127.0.0.1:8480}",
      description = "The server; also taken from TAPLINE_SERVER. Default: http://127.0.0.1:8480.")
  private String url;

  ApiClient client() {
    return new ApiClient(url);
  }
}
