package io.tapline.control.cli.query;

import io.tapline.control.cli.options.Installation;
import io.tapline.control.cli.results.HostNames;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** The option {@code --inventory} of commands that show hosts by their names. */
final class HostNamesOption {
  @Option(
      names = "--inventory",
      paramLabel = "FILE",
      description = "YAML file with the names of hosts to show.")
  private Path inventoryFile;

  /**
   * Returns the names in the inventory; without one, hosts are shown by their addresses.
   *
   * @throws io.tapline.control.cli.console.CommandException if the file can't be read or is not an
   *     inventory
   */
  HostNames names() {
    return HostNames.withInventory(Installation.inventory(inventoryFile));
  }
}
