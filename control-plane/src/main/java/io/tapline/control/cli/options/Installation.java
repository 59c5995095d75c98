package io.tapline.control.cli.options;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.network.NetworkSection;
import io.tapline.control.cli.console.CommandException;
import io.tapline.network.Network;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * The folders of Tapline's files. {@code bin/tapline} passes {@code home} and {@code prefix} as
 * system properties.
 *
 * <pre>
 *                  a clone                          installed by packages
 * tapline.home     its root                         PREFIX/share/tapline
 * tapline.prefix   HOME/build                       PREFIX
 * </pre>
 *
 * @param home the folder that contains {@code bin/tapline}, captures and scripts
 * @param prefix the folder that contains {@code bin}, with the native programs, and {@code
 *     share/tapline}
 * @param plugins shared objects with out-of-tree parsers
 */
public record Installation(Path home, Path prefix, List<Path> plugins) {
  public static Installation current() {
    return with(List.of());
  }

  /** Returns the installation with out-of-tree parsers. */
  static Installation with(List<Path> plugins) {
    Path home = Path.of(System.getProperty("tapline.home", "")).toAbsolutePath();
    String prefix = System.getProperty("tapline.prefix");
    return new Installation(
        home, prefix == null ? home.resolve("build") : Path.of(prefix), plugins);
  }

  /** Returns the folder of the native programs. */
  public Path programs() {
    return prefix.resolve("bin");
  }

  /**
   * Returns the path of the native monitor, which may not exist: a server whose packets are
   * captured on other hosts does not need it.
   */
  public Path monitor() {
    return programs().resolve("tapline-monitor");
  }

  /**
   * Returns the path of the native monitor.
   *
   * @throws CommandException if it is not built
   */
  public Path requireMonitor() {
    return required(monitor());
  }

  /** Returns the path of the native agent, which runs this host's monitor; it may not exist. */
  public Path agent() {
    return programs().resolve("tapline-agent");
  }

  /**
   * Returns the path of the native agent.
   *
   * @throws CommandException if it is not built
   */
  public Path requireAgent() {
    return required(agent());
  }

  /** Returns the parsed form of {@link #catalogueJson}. */
  public Catalogue catalogue() {
    try {
      return Catalogue.fromJson(catalogueJson());
    } catch (IllegalArgumentException e) {
      throw new CommandException(
          "can't read the catalogue of parsers: " + e.getMessage() + "; run make build", e);
    }
  }

  /**
   * Returns the catalogue of parsers that the monitor wrote at build time; with plug-ins, the
   * monitor is asked for a new one.
   */
  public String catalogueJson() {
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

  /** Returns the file with the catalogue that the monitor wrote at build time. */
  public Path catalogueFile() {
    return required(prefix.resolve("share/tapline/parsers.json"));
  }

  private Path required(Path file) {
    if (!Files.exists(file)) {
      throw new CommandException(
          "the native programs are not built (no " + file + "): run make build in " + home);
    }
    return file;
  }

  public Path bundledCapture() {
    return home.resolve("testbed/three_tier/three_tier.pcap.zst");
  }

  public Path bundledInventory() {
    return home.resolve("testbed/three_tier/inventory.yaml");
  }

  /** Reads an inventory of hosts; returns an empty one for null. */
  public static Inventory inventory(Path file) {
    return file == null ? Inventory.empty() : read(file, Inventory::fromYaml);
  }

  /** Checks that the inventory's settings for strings refer to string fields of known parsers. */
  public static void requireTexts(Inventory inventory, Catalogue catalogue) {
    try {
      inventory.texts().requireTextsOf(catalogue);
    } catch (IllegalArgumentException e) {
      throw new CommandException(e.getMessage(), e);
    }
  }

  /** Reads the network of an inventory; empty if there is none. */
  public static Optional<Network> network(Path file, Inventory inventory) {
    return file == null
        ? Optional.empty()
        : read(file, text -> NetworkSection.fromYaml(text, inventory));
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
