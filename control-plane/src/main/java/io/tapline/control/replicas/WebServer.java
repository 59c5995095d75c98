package io.tapline.control.replicas;

import java.util.List;

/**
 * A web server of a pool.
 *
 * @param address HOST:PORT
 * @param start command that starts it and then exits; empty if it always runs
 * @param stop command that stops it
 */
public record WebServer(String name, String address, List<String> start, List<String> stop) {
  /** Validates the members and copies the commands. */
  public WebServer {
    if (!name.matches("[A-Za-z0-9][A-Za-z0-9._-]{0,62}")) {
      throw new IllegalArgumentException("name: letters, digits, '.', '_' and '-'");
    }
    int colon = address.lastIndexOf(':');
    if (!address.matches("[A-Za-z0-9.-]+:\\d{1,5}")
        || Integer.parseInt(address.substring(colon + 1)) > 65_535) {
      throw new IllegalArgumentException("address: HOST:PORT, not '" + address + "'");
    }
    start = List.copyOf(start);
    stop = List.copyOf(stop);
  }

  String host() {
    return address.substring(0, address.lastIndexOf(':'));
  }

  int port() {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }
}
