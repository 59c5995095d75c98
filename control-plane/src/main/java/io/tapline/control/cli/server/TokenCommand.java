package io.tapline.control.cli.server;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.access.ReplacedFile;
import io.tapline.control.access.Token;
import io.tapline.control.access.TokenText;
import io.tapline.control.access.Tokens;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline token}: edits the tokens in a server's file. */
@Command(
    name = "token",
    description =
        "Adds a token to a server's file, which contains only its hash, and prints it once; lists and revokes tokens.",
    footer = {
      "",
      "A viewer reads its tenant's results, an analyst also queries its subnets, an admin does everything.",
      "The server reads the file again when it changes."
    })
public final class TokenCommand implements Callable<Integer> {
  private final Console console;

  @Option(
      names = "--tokens",
      required = true,
      paramLabel = "FILE",
      description = "The server's file; created if there is none.")
  private Path file;

  @Option(names = "--json", description = "With --list: a JSON line per token.")
  private boolean json;

  @ArgGroup(exclusive = true, multiplicity = "1")
  private Task task;

  /** Exactly one of three tasks. */
  static final class Task {
    @ArgGroup(exclusive = false, multiplicity = "1")
    private Addition addition;

    @Option(names = "--list", description = "List the tokens; their secrets are not stored.")
    private boolean list;

    @Option(
        names = "--revoke",
        paramLabel = "TOKEN",
        description = "Remove the token with this ID or name (--list) from the file.")
    private String revoked;
  }

  /** The new token. */
  static final class Addition {
    @Option(
        names = "--tenant",
        required = true,
        paramLabel = "NAME",
        description = "Tenant whose queries it sees: lower case letters and digits.")
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
        description = "Subnet that it may see, such as 10.0.2.0/24; not for an admin.")
    private List<String> subnets = new ArrayList<>();

    @Option(
        names = "--expires",
        paramLabel = "DAY",
        description = "Day from which it is rejected, such as 2027-06-30 (UTC).")
    private String expires;

    @Option(
        names = "--name",
        paramLabel = "TEXT",
        description = "Name of its owner, for --list and the audit log.")
    private String name;

    List<String> members(String hash) {
      List<String> members = new ArrayList<>();
      if (name != null) {
        members.add("name: \"" + name + "\"");
      }
      members.add("tenant: " + tenant);
      members.add("role: " + role);
      if (!subnets.isEmpty()) {
        members.add("subnets: [\"" + String.join("\", \"", subnets) + "\"]");
      }
      members.add("sha256: \"" + hash + "\"");
      if (expires != null) {
        members.add("expires: \"" + expires + "\"");
      }
      return members;
    }
  }

  TokenCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws IOException {
    if (json && !task.list) {
      throw new UsageException("--json requires --list");
    } else if (task.list) {
      list(Instant.now());
    } else if (task.revoked != null) {
      revoke(task.revoked);
    } else {
      add(task.addition);
    }
    return 0;
  }

  private void add(Addition addition) throws IOException {
    String secret = Token.newSecret();
    String before = Files.exists(file) ? Files.readString(file) : "";
    String after = right(() -> TokenText.add(before, addition.members(Token.hash(secret))));
    replace(after, hashes(existingTokens(before), Token.hash(secret)));
    console.line(secret);
    console.hint("shown only now; " + file + " keeps its hash");
  }

  private void revoke(String called) throws IOException {
    String previousText = text();
    List<Token> all = tokens(previousText);
    List<Token> matching = all.stream().filter(token -> token.isCalled(called)).toList();
    if (matching.size() != 1) {
      throw new CommandException(
          "%s: %s token has the ID or name '%s': tapline token --list shows them"
              .formatted(file, matching.isEmpty() ? "no" : "more than one", called));
    }
    List<Token> keptTokens = all.stream().filter(token -> token != matching.get(0)).toList();
    replace(TokenText.remove(previousText, all.indexOf(matching.get(0))), hashes(keptTokens));
    console.line("revoked " + words(matching.get(0)));
  }

  private static String words(Token token) {
    String name = token.name().isEmpty() ? "" : " (" + token.name() + ")";
    return "%s%s of %s, %s"
        .formatted(token.id(), name, token.rights().tenant(), token.role().label());
  }

  private static List<String> hashes(List<Token> tokens, String... more) {
    List<String> hashes = tokens.stream().map(Token::sha256).collect(Collectors.toList());
    hashes.addAll(List.of(more));
    return hashes;
  }

  /**
   * Replaces the file after verifying, with the server's parser, that only the intended entry
   * changes.
   */
  private void replace(String newText, List<String> wanted) throws IOException {
    List<String> read = hashes(tokens(newText));
    if (!read.equals(wanted)) {
      throw new CommandException(
          file + " has a layout that tapline token can't change: edit its entries manually");
    }
    ReplacedFile.write(file, newText);
  }

  private String text() throws IOException {
    if (!Files.exists(file)) {
      throw new UsageException("--tokens " + file + ": there is no such file");
    }
    return Files.readString(file);
  }

  private List<Token> tokens(String text) {
    return right(() -> Tokens.read(text).all());
  }

  private <T> T right(Supplier<T> read) {
    try {
      return read.get();
    } catch (IllegalArgumentException e) {
      throw new UsageException(
          file + " is not a valid token file, or would not be: " + e.getMessage());
    }
  }

  /**
   * Returns the tokens; none if the file has errors, which are reported when the new text is
   * checked.
   */
  private static List<Token> existingTokens(String text) {
    try {
      return Tokens.read(text).all();
    } catch (IllegalArgumentException e) {
      return List.of();
    }
  }

  private void list(Instant now) throws IOException {
    List<Token> all = tokens(text());
    if (json) {
      all.forEach(token -> console.json(json(token, now)));
      return;
    }
    TextTable table = TextTable.ofText("id", "name", "tenant", "role", "subnets", "expires");
    all.forEach(
        token ->
            table.add(
                List.of(
                    token.id(),
                    token.name(),
                    token.rights().tenant(),
                    token.role().label(),
                    token.rights().scope().toString(),
                    day(token) + (token.isExpired(now) ? " (expired)" : ""))));
    console.print(table.render(""));
  }

  private static ObjectNode json(Token token, Instant now) {
    ObjectNode line = JsonNodeFactory.instance.objectNode();
    line.put("id", token.id());
    line.put("name", token.name());
    line.put("tenant", token.rights().tenant());
    line.put("role", token.role().label());
    ArrayNode subnets = line.putArray("subnets");
    token.rights().scope().prefixes().forEach(subnet -> subnets.add(subnet.toString()));
    line.put("expires", day(token));
    line.put("expired", token.isExpired(now));
    return line;
  }

  private static String day(Token token) {
    return token.expires() == null
        ? ""
        : token.expires().atZone(ZoneOffset.UTC).toLocalDate().toString();
  }
}
