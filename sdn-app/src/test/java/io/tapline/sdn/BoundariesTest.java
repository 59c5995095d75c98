package io.tapline.sdn;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class BoundariesTest {
  @Test
  void onlyOnePackageUsesTheOpenFlowLibraryAndNetty() throws IOException {
    Path sources = Path.of("src/main/java/io/tapline/sdn");
    try (Stream<Path> files = Files.walk(sources)) {
      List<Path> knowing =
          files.filter(Files::isRegularFile).filter(BoundariesTest::knowsOpenFlow).toList();
      assertThat(knowing)
          .isNotEmpty()
          .allMatch(path -> path.startsWith(sources.resolve("openflow")));
    }
  }

  private static boolean knowsOpenFlow(Path file) {
    try {
      String text = Files.readString(file);
      return text.contains("org.projectfloodlight") || text.contains("io.netty");
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
