package io.tapline.control.cli.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.HashKey;
import io.tapline.control.HashKeys;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class HashKeyOptionsTest {
  private static final String DIGITS = "00112233445566778899aabbCCDDEEFF";
  private static final String OTHERS = "ffeeddccbbaa99887766554433221100";

  @TempDir private Path folder;
  private final ByteArrayOutputStream stderr = new ByteArrayOutputStream();

  private HashKeyOptions parsed(String... words) {
    HashKeyOptions options = new HashKeyOptions();
    new CommandLine(
            CommandLine.Model.CommandSpec.create()
                .addMixin("key", CommandLine.Model.CommandSpec.forAnnotatedObject(options)))
        .parseArgs(words);
    return options;
  }

  private HashKeys read(Path file) {
    return parsed("--hash-key-file", file.toString())
        .read(new Console(OutputStream.nullOutputStream(), stderr, 0, false))
        .orElseThrow();
  }

  private Path file(String text) throws Exception {
    Path file = Files.writeString(folder.resolve("hash.key"), text);
    return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
  }

  @Test
  void hasNoKeysWithoutAFile() {
    assertThat(parsed().read(null)).isEmpty();
  }

  @Test
  void theSecondKeyIsForStrings() throws Exception {
    HashKeys one = read(file(DIGITS + "\n"));
    assertThat(one.flows().digits()).isEqualTo(DIGITS);
    assertThat(one.texts().digits()).isEqualTo(DIGITS);
    HashKeys two = read(file("\n" + DIGITS + "\n" + OTHERS + "\n"));
    assertThat(two.flows().digits()).isEqualTo(DIGITS);
    assertThat(two.texts().digits()).isEqualTo(OTHERS);
    assertThat(stderr.toString(StandardCharsets.UTF_8)).isEmpty();
  }

  @Test
  void aFileThatAllUsersCanReadCausesAWarning() throws Exception {
    Path file = file(DIGITS);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
    read(file);
    assertThat(stderr.toString(StandardCharsets.UTF_8))
        .contains("warning: --hash-key-file " + file + ": every user of this host can read it")
        .doesNotContain(DIGITS);
  }

  @ParameterizedTest
  @CsvSource({
    "'', the file has 0 words",
    "facade123, it has 9 characters",
    "00112233445566778899aabbccddeeff0, it has 33 characters",
    "g0112233445566778899aabbccddeeff, not all of its 32 characters",
    "00112233445566778899aabbccddeeff 0011, it has 4 characters",
    "a b c, the file has 3 words"
  })
  void anInvalidFileIsReportedWithoutItsContents(String text, String reason) throws Exception {
    Path file = file(text);
    assertThatThrownBy(() -> read(file))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(
            "--hash-key-file " + file + ": a key is 32 hexadecimal digits; " + reason)
        .message()
        .satisfies(stderr -> assertThat(text.isEmpty() || !stderr.contains(text)).isTrue());
  }

  @Test
  void aMissingFileIsReported() {
    assertThatThrownBy(() -> read(folder.resolve("none")))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("none: can't be read; does it exist?");
  }

  @Test
  void theFileIsPrivateAndCanBeReadBack() throws Exception {
    HashKeys keys = HashKeys.drawn();
    Path file = keys.write(folder.resolve("written"));
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    HashKeys reread = HashKeys.read(file);
    assertThat(reread.flows().digits()).isEqualTo(HashKey.KNOWN.digits());
    assertThat(reread.texts().digits())
        .isEqualTo(keys.texts().digits())
        .isNotEqualTo(HashKeys.drawn().texts().digits());
    assertThat(keys.toString()).doesNotContain(keys.texts().digits());
  }
}
