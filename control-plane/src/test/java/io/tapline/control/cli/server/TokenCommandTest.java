package io.tapline.control.cli.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.access.Token;
import io.tapline.control.access.Tokens;
import io.tapline.control.cli.Main;
import io.tapline.control.cli.console.Console;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TokenCommandTest {
  @TempDir Path folder;
  private Path file;

  private record Result(int exitCode, String out, String err) {}

  @BeforeEach
  void name() {
    file = folder.resolve("tokens.yaml");
  }

  private Result run(String... arguments) {
    List<String> all = new ArrayList<>(List.of("token", "--tokens", file.toString()));
    all.addAll(List.of(arguments));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    int exitCode = Main.run(new Console(out, err, 0, false), all.toArray(String[]::new));
    return new Result(
        exitCode, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
  }

  private String added(String... arguments) {
    Result result = run(arguments);
    assertThat(result.exitCode()).as(result.err()).isZero();
    return result.out().strip();
  }

  private Optional<Token> find(String secret) throws Exception {
    return Tokens.read(Files.readString(file)).find(secret, Instant.EPOCH);
  }

  @Test
  void tokensAreAddedListedAndRevoked() throws Exception {
    String admin = added("--tenant", "ops", "--role", "admin");
    String web =
        added(
            "--tenant",
            "web",
            "--role",
            "viewer",
            "--subnet",
            "10.0.2.0/24,2001:db8::/32",
            "--expires",
            "2020-01-01",
            "--name",
            "wall");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    String adminId = Token.hash(admin).substring(0, 8);
    Result list = run("--list");
    assertThat(list.out().lines().toList()).hasSize(3);
    assertThat(list.out())
        .contains(adminId)
        .containsPattern("wall +web +viewer +10.0.2.0/24, 2001:db8::/32 +2020-01-01 \\(expired\\)")
        .doesNotContain(admin, web, Token.hash(web));
    assertThat(run("--list", "--json").out())
        .contains(
            "{\"id\":\"%s\",\"name\":\"\",\"tenant\":\"ops\",\"role\":\"admin\",\"subnets\":[],\"expires\":\"\",\"expired\":false}"
                .formatted(adminId))
        .contains(
            "\"subnets\":[\"10.0.2.0/24\",\"2001:db8::/32\"],\"expires\":\"2020-01-01\",\"expired\":true}");

    assertThat(run("--revoke", "wall").out()).contains("(wall) of web, viewer");
    assertThat(find(web)).isEmpty();
    assertThat(find(admin)).isPresent();
    Result second = run("--revoke", "wall");
    assertThat(second.exitCode()).isEqualTo(1);
    assertThat(second.err()).contains("no token has the ID or name 'wall'");
    assertThat(run("--revoke", adminId.substring(0, 7)).exitCode()).isEqualTo(1);
    assertThat(run("--revoke", adminId).exitCode()).isZero();
    assertThat(find(admin)).isEmpty();
    assertThat(find(added("--tenant", "ops", "--role", "admin"))).isPresent();
  }

  @Test
  void unrelatedTextIsKeptUnchanged() throws Exception {
    String text = "tokens: []\n# quotas\ntenants:\n  web: {queries: 3}\n";
    Path target = Files.writeString(folder.resolve("real.yaml"), text);
    Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rw-r-----"));
    Files.createSymbolicLink(file, target);
    String secret = added("--tenant", "web", "--role", "admin");
    assertThat(find(secret).orElseThrow().quota().queries()).isEqualTo(3);
    assertThat(file).isSymbolicLink();
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(target)))
        .isEqualTo("rw-r-----");
    assertThat(Files.readString(target)).endsWith("# quotas\ntenants:\n  web: {queries: 3}\n");
    try (var files = Files.list(folder)) {
      assertThat(files).hasSize(2);
    }
  }

  @Test
  void errorsAreReportedAndChangeNothing() throws Exception {
    assertThat(run("--list").err()).contains("there is no such file");
    assertThat(file).doesNotExist();
    Files.writeString(file, "tokens: what\n");
    assertThat(run("--tenant", "web", "--role", "admin").exitCode()).isEqualTo(2);
    assertThat(run("--list").exitCode()).isEqualTo(2);
    assertThat(Files.readString(file)).isEqualTo("tokens: what\n");
    Files.delete(file);
    added("--tenant", "web", "--role", "admin", "--name", "one");
    String previousText = Files.readString(file);
    for (List<String> wrong :
        List.<List<String>>of(
            List.of("--tenant", "web", "--role", "boss"),
            List.of("--tenant", "web", "--role", "admin", "--name", "one"),
            List.of("--tenant", "web", "--role", "admin", "--name", "a b"),
            List.of("--tenant", "web", "--role", "viewer"),
            List.of("--tenant", "web"),
            List.of(),
            List.of("--list", "--revoke", "one"),
            List.of("--tenant", "web", "--role", "admin", "--list"),
            List.of("--json", "--revoke", "one"))) {
      Result result = run(wrong.toArray(String[]::new));
      assertThat(result.exitCode()).as("%s: %s", wrong, result.err()).isEqualTo(2);
      assertThat(Files.readString(file)).isEqualTo(previousText);
    }
  }
}
