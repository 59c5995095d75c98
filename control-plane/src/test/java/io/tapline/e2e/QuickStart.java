package io.tapline.e2e;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Options with which {@code bin/tapline} starts in a third of the processor time: an archive of the
 * classes that a run needs, made once, and no second compiler. What it then does is the same.
 */
final class QuickStart {
  /** Warnings about the archive would go to standard output. */
  private static final String COMMON =
      "-XX:TieredStopAtLevel=1 -Xlog:cds=off -Xlog:cds+dynamic=off";

  private static final long MOST_SECONDS = 180;
  private static String options;

  private QuickStart() {}

  static synchronized String options() {
    if (options == null) {
      Path archive = Cli.root().resolve("control-plane/target/e2e.jsa");
      try {
        boolean made = isNewest(archive) || make(archive);
        options = COMMON + (made ? " -XX:SharedArchiveFile=" + archive : "");
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return options;
  }

  private static boolean isNewest(Path archive) throws IOException {
    if (!Files.exists(archive)) {
      return false;
    }
    try (Stream<Path> jars = Files.list(Cli.root().resolve("build/java/lib"))) {
      long made = archive.toFile().lastModified();
      return jars.noneMatch(jar -> jar.toFile().lastModified() > made);
    }
  }

  /** A run over the bundled capture loads what all of them do. */
  private static boolean make(Path archive) throws IOException {
    Files.deleteIfExists(archive);
    List<String> command =
        Cli.tapline(
            "run",
            "PARSE http_get TO *:80 PROCESS (top-k: k=10, w=10s)",
            "--pcap",
            Cli.root().resolve("testbed/captures/http_small.pcap.zst").toString());
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.DISCARD);
    builder.environment().put("TAPLINE_JAVA_OPTS", COMMON + " -XX:ArchiveClassesAtExit=" + archive);
    Process process = builder.start();
    try {
      boolean ended = process.waitFor(MOST_SECONDS, TimeUnit.SECONDS);
      process.destroyForcibly().waitFor();
      return ended && process.exitValue() == 0 && Files.exists(archive);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
