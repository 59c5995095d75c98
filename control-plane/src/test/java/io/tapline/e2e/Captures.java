package io.tapline.e2e;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Finds captures outside the repository, in the folder given by TAPLINE_CAPTURES. */
final class Captures {
  private Captures() {}

  /** Returns the path of a capture or log. If it is absent, skips the test with the reason. */
  static Path path(String name) {
    String configured = System.getenv("TAPLINE_CAPTURES");
    Path folder =
        configured != null
            ? Path.of(configured)
            : Cli.root().resolve("../shared/traces").normalize();
    Path file = folder.resolve(name);
    assumeTrue(
        Files.isRegularFile(file),
        () ->
            "SKIPPED: no capture " + file + " (docs/reference/captures.md says where it is from)");
    return file;
  }

  /** Returns the lines of a text file, decompressed by zstd if its name ends in .zst. */
  static List<String> lines(Path file) {
    try {
      if (!file.toString().endsWith(".zst")) {
        return Files.readAllLines(file);
      }
      Process zstd =
          new ProcessBuilder("zstd", "-q", "-d", "-c", "--long=27", file.toString()).start();
      return new String(zstd.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
