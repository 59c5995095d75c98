package io.tapline.control.cli.options;

import java.net.URI;
import java.util.List;
import java.util.stream.Stream;

/** Recognizes loopback addresses, whose traffic never leaves this host. */
public final class Loopback {
  private Loopback() {}

  /**
   * Returns true for loopback addresses and localhost. Resolves no other names, since their
   * addresses may change.
   */
  public static boolean is(String host) {
    return host.equals("localhost")
        || host.equals("::1")
        || host.equals("[::1]")
        || host.matches("127(\\.\\d{1,3}){3}");
  }

  /** Returns the hosts in a list HOST:PORT,HOST:PORT…; empty for an empty string. */
  static List<String> hosts(String addresses) {
    return addresses.isEmpty()
        ? List.of()
        : Stream.of(addresses.split(",")).map(Loopback::host).toList();
  }

  private static String host(String address) {
    String trimmed = address.strip();
    int colon = trimmed.lastIndexOf(':');
    return colon < 0 || trimmed.endsWith("]") ? trimmed : trimmed.substring(0, colon);
  }

  /** Returns the host of a URL; empty if it has none. */
  public static String hostOf(String url) {
    try {
      String host = URI.create(url).getHost();
      return host == null ? "" : host;
    } catch (IllegalArgumentException e) {
      return "";
    }
  }
}
