package io.tapline.control.cli;

import io.tapline.control.access.Token;
import io.tapline.control.access.Tokens;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline token}: a new token in a server's file. */
@Command(
    name = "token",
    description = "Adds a token to a server's file, which keeps its hash only, and prints it once.",
    footer = {
      "",
      "A viewer reads its tenant's results, an analyst also asks within its subnets, an admin does everything.",
      "The server reads the file again when it changes; to withdraw a token, take its entry out."
    })
final class TokenCommand implements Callable<Integer> {
  private static final FileAttribute<?> OWNER_ALONE =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

  private final Console console;

  @Option(
      names = "--tokens",
      required = true,
      paramLabel = "FILE",
      description = "The server's file; made if there is none.")
  private Path file;

  @Option(
      names = "--tenant",
      required = true,
      paramLabel = "NAME",
      description = "Whose queries it sees: lower case letters and digits.")
  private String tenant;

  @Option(
      names = "--role",
      required = true,
      paramLabel = "ROLE",
      description = "viewer, analyst or admin.")
  private String role;

  @Option(
      names = "--subnet",
      paramLabel = "PREFIX",
      split = ",",
      description = "What it may look at, such as 10.0.2.0/24; not for an admin.")
  private List<String> subnets = new ArrayList<>();

  @Option(
      names = "--expires",
      paramLabel = "DAY",
      description = "From which day on it is refused, such as 2027-06-30 (UTC).")
  private String expires;

  TokenCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws IOException {
    String secret = Token.newSecret();
    String before = Files.exists(file) ? Files.readString(file) : "tokens:\n";
    if (!before.endsWith("\n")) {
      before += "\n";
    }
    String after = before + entry(Token.hash(secret));
    try {
      Tokens.read(after);
    } catch (IllegalArgumentException e) {
      throw new UsageException(file + " would not be right: " + e.getMessage());
    }
    replace(after);
    console.line(secret);
    console.hint("shown only now; " + file + " keeps its hash");
    return 0;
  }

  private String entry(String hash) {
    StringBuilder entry = new StringBuilder();
    entry.append("  - tenant: ").append(tenant).append('\n');
    entry.append("    role: ").append(role).append('\n');
    if (!subnets.isEmpty()) {
      entry.append("    subnets: [\"").append(String.join("\", \"", subnets)).append("\"]\n");
    }
    entry.append("    sha256: \"").append(hash).append("\"\n");
    if (expires != null) {
      entry.append("    expires: \"").append(expires).append("\"\n");
    }
    return entry.toString();
  }

  /** All of it or nothing, and nobody else reads it. */
  private void replace(String text) throws IOException {
    Path folder = file.toAbsolutePath().getParent();
    Path next = Files.createTempFile(folder, ".tokens-", "", OWNER_ALONE);
    try {
      Files.writeString(next, text);
      Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(next);
    }
  }
}
