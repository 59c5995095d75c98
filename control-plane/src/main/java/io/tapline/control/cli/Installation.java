package io.tapline.control.cli;

import io.tapline.compiler.Catalogue;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.network.Network;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Where Tapline's files are; {@code bin/tapline} says so in the system property {@code
 * tapline.home}.
 *
 * @param home the repository's root
 * @param plugins shared objects with parsers outside the tree
 */
record Installation(Path home, List<Path> plugins) {
  static Installation current() {
    return with(List.of());
  }

  /** With parsers outside the tree. */
  static Installation with(List<Path> plugins) {
    return new Installation(
        Path.of(System.getProperty("tapline.home", "")).toAbsolutePath(), plugins);
  }

  /** The native monitor, which a server whose packets are watched for elsewhere can do without. */
  Path monitor() {
    return home.resolve("build/bin/tapline-monitor");
  }

  /**
   * The native monitor.
   *
   * @throws CommandException if it is not built
   */
  Path requireMonitor() {
    return built("build/bin/tapline-monitor");
  }

  /** What the native parsers say of themselves. */
  Catalogue catalogue() {
    try {
      return Catalogue.fromJson(catalogueJson());
    } catch (IllegalArgumentException e) {
      throw new CommandException(
          "can't read the catalogue of parsers: " + e.getMessage() + "; run make build", e);
    }
  }

  /**
   * The catalogue as the monitor wrote it when it was built; with plug-ins, as it writes it now.
   */
  String catalogueJson() {
    if (!plugins.isEmpty()) {
      return PluginCatalogue.read(requireMonitor(), plugins);
    }
    Path file = catalogueFile();
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new CommandException("can't read " + file + ": " + e.getMessage(), e);
    }
  }

  /** The catalogue as the monitor wrote it when it was built. */
  Path catalogueFile() {
    return built("build/share/tapline/parsers.json");
  }

  private Path built(String name) {
    Path file = home.resolve(name);
    if (!Files.exists(file)) {
      throw new CommandException(
          "the native programs are not built (no " + file + "): run make build in " + home);
    }
    return file;
  }

  Path bundledCapture() {
    return home.resolve("testbed/three_tier/three_tier.pcap.zst");
  }

  Path bundledInventory() {
    return home.resolve("testbed/three_tier/inventory.yaml");
  }

  /** Reads an inventory of hosts; null is none. */
  static Inventory inventory(Path file) {
    return file == null ? Inventory.empty() : read(file, Inventory::fromYaml);
  }

  /** What an inventory says of texts has to be of parsers that there are. */
  static void requireTexts(Inventory inventory, Catalogue catalogue) {
    try {
      inventory.texts().requireTextsOf(catalogue);
    } catch (IllegalArgumentException e) {
      throw new CommandException(e.getMessage(), e);
    }
  }

  /** Reads the network of an inventory; empty if there is none. */
  static Optional<Network> network(Path file, Inventory inventory) {
    return file == null ? Optional.empty() : read(file, text -> Network.fromYaml(text, inventory));
  }

  private static <T> T read(Path file, Function<String, T> reader) {
    try {
      return reader.apply(Files.readString(file));
    } catch (NoSuchFileException e) {
      throw new CommandException("no inventory file " + file, e);
    } catch (IOException e) {
      throw new CommandException("can't read inventory file " + file + ": " + e.getMessage(), e);
    } catch (IllegalArgumentException e) {
      throw new CommandException("inventory file " + file + ": " + e.getMessage(), e);
    }
  }
}
