package io.tapline.control.cli.client;

import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.Loopback;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.NoSuchAlgorithmException;
import java.util.Locale;
import javax.net.ssl.SSLContext;
import picocli.CommandLine.Option;

/** Options for the server that a command connects to. */
public final class ServerOption {
  @Option(
      names = "--server",
      paramLabel = "URL",
      defaultValue = "${env:TAPLINE_SERVER:-http://127.0.0.1:8480}",
      description = "The server; also taken from TAPLINE_SERVER. Default: http://127.0.0.1:8480.")
  private String url;

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      defaultValue = "${env:TAPLINE_TOKEN_FILE}",
      description =
          "File with the token; also taken from TAPLINE_TOKEN_FILE. Without it TAPLINE_TOKEN is the token.")
  private Path tokenFile;

  @Option(
      names = "--ca",
      paramLabel = "FILE",
      defaultValue = "${env:TAPLINE_CA}",
      description =
          "Certificate authorities (PEM) that signed the server's certificate; also taken from TAPLINE_CA. Default: the authorities that this host trusts.")
  private Path authorities;

  public ApiClient client() {
    String token = token();
    boolean readable = url.toLowerCase(Locale.ROOT).startsWith("http:");
    if (!token.isEmpty() && readable && !Loopback.is(Loopback.hostOf(url))) {
      throw new UsageException(
          "--server %s: anyone on the path could read your token; use https://".formatted(url));
    }
    return new ApiClient(url, token, tls());
  }

  private SSLContext tls() {
    try {
      return authorities == null
          ? SSLContext.getDefault()
          : TlsFiles.trusting(authorities).context();
    } catch (IOException e) {
      throw new UsageException("--ca: " + e.getMessage());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java provides TLS", e);
    }
  }

  private String token() {
    if (tokenFile == null) {
      return System.getenv().getOrDefault("TAPLINE_TOKEN", "");
    }
    try {
      return Files.readString(tokenFile).strip();
    } catch (IOException e) {
      throw new UsageException("--token-file " + tokenFile + ": can't be read; does it exist?");
    }
  }
}
