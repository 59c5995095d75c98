package io.tapline.control.cli.options;

import io.tapline.control.cli.console.CommandException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * This host's network interfaces, from the kernel's list. Java's list lacks interfaces without an
 * address, such as most that receive mirrored packets.
 */
public final class NetworkInterfaces {
  private static final Path LIST = Path.of("/proc/self/net/dev");

  private NetworkInterfaces() {}

  public static void check(String name) {
    List<String> names = names();
    if (!names.contains(name)) {
      throw new CommandException(
          "no network interface '%s'; available: %s".formatted(name, String.join(", ", names)));
    }
  }

  /** Returns the names. A line's name ends at a colon; the two header lines have none. */
  private static List<String> names() {
    try {
      return Files.readAllLines(LIST).stream()
          .filter(line -> line.contains(":"))
          .map(line -> line.substring(0, line.indexOf(':')).strip())
          .toList();
    } catch (IOException e) {
      throw new CommandException("can't list network interfaces: " + e.getMessage(), e);
    }
  }
}
