package io.tapline.control.probe;

import java.util.List;
import java.util.stream.Stream;

/**
 * The address of a server, as the user spelled it.
 *
 * @param host a name or an address, IPv6 without brackets
 */
public record Address(String host, int port) {
  private static final int LAST_PORT = 65_535;

  /**
   * Parses {@code HOST:PORT[,HOST:PORT…]}; IPv6 addresses must be in brackets.
   *
   * @throws IllegalArgumentException with a message that quotes the invalid part
   */
  public static List<Address> list(String text) {
    return Stream.of(text.split(",", -1)).map(String::strip).map(Address::parse).toList();
  }

  private static Address parse(String text) {
    int colon = text.lastIndexOf(':');
    String host = text.substring(0, Math.max(0, colon)).replaceFirst("^\\[(.*)]$", "$1");
    String port = text.substring(colon + 1);
    boolean isRight = port.matches("[0-9]{1,5}") && between(Integer.parseInt(port));
    boolean bare = host.contains(":") && !text.startsWith("[");
    if (host.isEmpty() || bare || !isRight) {
      throw new IllegalArgumentException("'" + text + "' is not HOST:PORT");
    }
    return new Address(host, Integer.parseInt(port));
  }

  private static boolean between(int port) {
    return port >= 1 && port <= LAST_PORT;
  }

  @Override
  public String toString() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
