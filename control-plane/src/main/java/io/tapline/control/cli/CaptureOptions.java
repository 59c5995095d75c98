package io.tapline.control.cli;

import io.tapline.control.query.Source;
import io.tapline.control.query.Tap;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options for capture files, and for other taps. */
final class CaptureOptions {
  @Option(
      names = "--pcap",
      paramLabel = "FILE",
      description =
          "Capture file: pcap or pcapng, also compressed (.zst). Several are merged by the times of their packets.")
  private List<Path> files = new ArrayList<>();

  @Mixin private TapOptions taps;

  List<Path> files() {
    return files;
  }

  List<Tap> taps() {
    return taps.taps();
  }

  /**
   * Requires that there is something to read.
   *
   * @throws UsageException if neither a file nor a tap is given
   */
  void require() {
    if (files.isEmpty() && taps().isEmpty()) {
      throw new UsageException("no packets to read: name capture files with --pcap or --tap");
    }
  }

  Source source(String speed) {
    return new Source(files, "", taps(), speed, Optional.empty());
  }
}
