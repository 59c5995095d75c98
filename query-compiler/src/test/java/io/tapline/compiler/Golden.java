package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Files under src/test/resources with expected output. -Dgolden.update=true rewrites them for
 * review.
 */
final class Golden {
  private static final Path ROOT = Path.of(System.getProperty("tapline.root"));
  private static final Path RESOURCES = ROOT.resolve("query-compiler/src/test/resources");

  private Golden() {}

  static void check(String name, String actual) throws IOException {
    if (Boolean.getBoolean("golden.update")) {
      Files.createDirectories(RESOURCES.resolve(name).getParent());
      Files.writeString(RESOURCES.resolve(name), actual);
    }
    assertThat(actual).as(name).isEqualTo(Files.readString(RESOURCES.resolve(name)));
  }

  static Path path(String relativeToRepository) {
    return ROOT.resolve(relativeToRepository);
  }
}
