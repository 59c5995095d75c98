package io.tapline.control.cli.server;

import io.tapline.compiler.Inventory;
import io.tapline.control.Tap;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.Captures;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.cli.options.NetworkInterfaces;
import io.tapline.control.cli.options.Speed;
import io.tapline.control.cli.options.TapOptions;
import io.tapline.control.query.monitors.Source;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options for the packets that a server's queries read. */
final class PacketOptions {
  @ArgGroup(exclusive = true)
  private Kind kind = new Kind();

  @Mixin private TapOptions taps;

  /** Mutually exclusive kinds of sources. */
  static final class Kind {
    @Option(
        names = "--interface",
        paramLabel = "IF",
        description = "Network interface to listen on (needs root).")
    private String networkInterface;

    @Option(
        names = "--pcap",
        paramLabel = "FILE",
        description = "Capture files, merged by the times of their packets.")
    private List<Path> files = new ArrayList<>();

    @Option(
        names = "--agents",
        paramLabel = "HOST:PORT",
        description = "Address at which agents (tapline-agent) get leases; their monitors capture.")
    private String agents;
  }

  /** Checks all options that can be checked before anything is started. */
  void check(Installation installation, Console console) throws InterruptedException {
    if (agents().isPresent()) {
      if (!taps().isEmpty()) {
        throw new UsageException(
            "--tap is for the monitor of this host; give the taps of other hosts to their"
                + " tapline-agent");
      }
      return;
    }
    networkInterface().ifPresent(NetworkInterfaces::check);
    if (isLocal() && readsFiles()) {
      throw new UsageException(
          "queries read capture files or interfaces, not both: use --interface and"
              + " --tap …=INTERFACE, or --pcap and --tap …=FILE");
    }
    Captures.check(installation, kind.files, taps(), console);
  }

  /** Returns the address at which agents on other hosts are accepted; empty if they are not. */
  Optional<String> agents() {
    return Optional.ofNullable(kind.agents);
  }

  Optional<String> networkInterface() {
    return Optional.ofNullable(kind.networkInterface);
  }

  /** Resolves the taps' ports from the inventory's network. */
  void resolveTaps(Inventory inventory) {
    taps.resolve(inventory);
  }

  List<Tap> taps() {
    return taps.taps();
  }

  /** Returns true if agents on this host capture on its interfaces. */
  boolean isLocal() {
    return networkInterface().isPresent() || taps().stream().anyMatch(tap -> !tap.file());
  }

  boolean readsFiles() {
    return !kind.files.isEmpty() || taps().stream().anyMatch(Tap::file);
  }

  /** Returns the capture files that queries read; empty for none. */
  Optional<Source> files() {
    return readsFiles()
        ? Optional.of(Source.taps(kind.files, taps(), Speed.MAX.toString()))
        : Optional.empty();
  }
}
