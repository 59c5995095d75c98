package io.tapline.control.cli.options;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;

/** Options for capture files. */
public final class CaptureOptions {
  @Option(
      names = "--pcap",
      paramLabel = "FILE",
      required = true,
      description =
          "Capture file: pcap or pcapng, also compressed (.zst). Several are merged by the times of their packets.")
  private List<Path> files = new ArrayList<>();

  public List<Path> files() {
    return files;
  }
}
