package io.tapline.control.cli;

import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Collections;
import java.util.List;

/** The host's network interfaces. */
final class NetworkInterfaces {
  private NetworkInterfaces() {}

  static void check(String name) {
    List<String> names = names();
    if (!names.contains(name)) {
      throw new CommandException(
          "no network interface '%s'; there are: %s".formatted(name, String.join(", ", names)));
    }
  }

  private static List<String> names() {
    try {
      return Collections.list(NetworkInterface.getNetworkInterfaces()).stream()
          .map(NetworkInterface::getName)
          .toList();
    } catch (SocketException e) {
      throw new CommandException("can't list network interfaces: " + e.getMessage(), e);
    }
  }
}
