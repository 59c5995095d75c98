package io.tapline.control.cli;

import io.tapline.compiler.Catalogue;
import io.tapline.compiler.Inventory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Where Tapline's files are; {@code bin/tapline} says so in the system property {@code
 * tapline.home}.
 *
 * @param home the repository's root
 */
record Installation(Path home) {
  static Installation current() {
    return new Installation(Path.of(System.getProperty("tapline.home", "")).toAbsolutePath());
  }

  /** The native monitor. */
  Path monitor() {
    return built("build/bin/tapline-monitor");
  }

  /** What the native parsers say of themselves. */
  Catalogue catalogue() {
    Path file = built("build/share/tapline/parsers.json");
    try {
      return Catalogue.fromJson(Files.readString(file));
    } catch (IOException | IllegalArgumentException e) {
      throw new CommandException(
          "can't read " + file + ": " + e.getMessage() + "; run make build", e);
    }
  }

  /** The catalogue as the monitor wrote it. */
  String catalogueJson() {
    Path file = built("build/share/tapline/parsers.json");
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new CommandException("can't read " + file + ": " + e.getMessage(), e);
    }
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
    if (file == null) {
      return Inventory.empty();
    }
    try {
      return Inventory.fromYaml(Files.readString(file));
    } catch (NoSuchFileException e) {
      throw new CommandException("no inventory file " + file, e);
    } catch (IOException e) {
      throw new CommandException("can't read inventory file " + file + ": " + e.getMessage(), e);
    } catch (IllegalArgumentException e) {
      throw new CommandException("inventory file " + file + ": " + e.getMessage(), e);
    }
  }
}
