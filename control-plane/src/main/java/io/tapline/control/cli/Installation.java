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
 * Where Tapline's files are; {@code bin/tapline} passes both folders as system properties.
 *
 * <pre>
 *                  a clone                          installed by packages
 * tapline.home     its root                         PREFIX/share/tapline
 * tapline.prefix   HOME/build                       PREFIX
 * </pre>
 *
 * @param home the folder of {@code bin/tapline}, captures and scripts
 * @param prefix the folder of {@code bin} with the native programs, and of {@code share/tapline}
 * @param plugins shared objects with parsers outside the tree
 */
record Installation(Path home, Path prefix, List<Path> plugins) {
  static Installation current() {
    return with(List.of());
  }

  /** With parsers outside the tree. */
  static Installation with(List<Path> plugins) {
    Path home = Path.of(System.getProperty("tapline.home", "")).toAbsolutePath();
    String prefix = System.getProperty("tapline.prefix");
    return new Installation(
        home, prefix == null ? home.resolve("build") : Path.of(prefix), plugins);
  }

  /** The folder of the native programs. */
  Path programs() {
    return prefix.resolve("bin");
  }

  /** The native monitor, which a server whose packets are watched for elsewhere can do without. */
  Path monitor() {
    return programs().resolve("tapline-monitor");
  }

  /**
   * The native monitor.
   *
   * @throws CommandException if it is not built
   */
  Path requireMonitor() {
    return required(monitor());
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
    return required(prefix.resolve("share/tapline/parsers.json"));
  }

  private Path required(Path file) {
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
