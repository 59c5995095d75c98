package io.tapline.control.cli.options;

import io.tapline.compiler.Inventory;
import io.tapline.control.Tap;
import io.tapline.control.cli.console.UsageException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options for capture files and taps. */
public final class CaptureOptions {
  @Option(
      names = "--pcap",
      paramLabel = "FILE",
      description =
          "Capture file: pcap or pcapng, also compressed (.zst). Several are merged by the times of their packets.")
  private List<Path> files = new ArrayList<>();

  @Mixin private TapOptions taps;

  public List<Path> files() {
    return files;
  }

  public List<Tap> taps() {
    return taps.taps();
  }

  /**
   * Resolves the taps' ports from the links in an inventory's network.
   *
   * @throws UsageException if the inventory's network lacks a switch or a port
   */
  public void resolveTaps(Inventory inventory) {
    taps.resolve(inventory);
  }

  /**
   * Checks that there is a source of packets.
   *
   * @throws UsageException if neither a file nor a tap is given
   */
  public void require() {
    if (files.isEmpty() && taps().isEmpty()) {
      throw new UsageException("no packets to read: name capture files with --pcap or --tap");
    }
  }
}
