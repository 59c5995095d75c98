package io.tapline.control.rest;

import io.tapline.compiler.access.Scope;
import io.tapline.network.IpPrefix;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Proxies that are trusted to name their clients. Each appends its peer's address to
 * X-Forwarded-For: entries are trusted backwards from the last one, as long as a trusted proxy
 * wrote them; earlier ones may be forged.
 *
 * @param networks addresses of the proxies
 * @param names names of the proxies, resolved for every request, since restarted containers may
 *     have different addresses
 */
public record TrustedProxies(List<IpPrefix> networks, List<String> names) {
  /** No trusted proxies. */
  public static final TrustedProxies NONE = new TrustedProxies(List.of(), List.of());

  private static final Pattern NAME = Pattern.compile("[A-Za-z]([A-Za-z0-9.-]*[A-Za-z0-9])?");

  /** An address with or without a port, in the formats that proxies use. */
  private static final Pattern ENTRY =
      Pattern.compile("\\[([0-9A-Fa-f:.]+)](?::\\d+)?|([0-9.]+)(?::\\d+)?|([0-9A-Fa-f:.]+)");

  public TrustedProxies {
    networks = List.copyOf(networks);
    names = List.copyOf(names);
  }

  /**
   * Parses addresses, networks and names.
   *
   * @throws IllegalArgumentException with a message that quotes the invalid text
   */
  public static TrustedProxies of(List<String> texts) {
    List<IpPrefix> networks = new ArrayList<>();
    List<String> names = new ArrayList<>();
    for (String text : texts) {
      Optional<IpPrefix> network = Scope.prefix(text);
      if (network.isPresent()) {
        networks.add(network.get());
      } else if (NAME.matcher(text).matches()) {
        names.add(text);
      } else {
        throw new IllegalArgumentException(
            "'" + text + "' is not an address, a network such as 10.0.2.0/24, or a host name");
      }
    }
    return new TrustedProxies(networks, names);
  }

  /**
   * Returns the address of the client.
   *
   * @param peer address of the connection's other end
   * @param forwarded the request's X-Forwarded-For headers
   */
  String client(String peer, List<String> forwarded) {
    String client = address(peer).map(TrustedProxies::text).orElse(peer);
    if (forwarded.isEmpty() || this.equals(NONE)) {
      return client;
    }
    String[] entries = String.join(",", forwarded).split(",", -1);
    for (int i = entries.length - 1; i >= 0 && trusts(client); i--) {
      Optional<IpPrefix> previousAddress = address(entries[i].strip());
      if (previousAddress.isEmpty()) {
        return client;
      }
      client = text(previousAddress.get());
    }
    return client;
  }

  private boolean trusts(String client) {
    Optional<IpPrefix> address = address(client);
    return address.isPresent()
        && (networks.stream().anyMatch(prefix -> new Scope(List.of(prefix)).holds(address.get()))
            || names.stream().anyMatch(name -> addresses(name).contains(address.get())));
  }

  private static List<IpPrefix> addresses(String name) {
    try {
      return Arrays.stream(InetAddress.getAllByName(name))
          .map(InetAddress::getHostAddress)
          .flatMap(text -> address(text).stream())
          .toList();
    } catch (UnknownHostException e) {
      // A name that does not resolve matches no peer.
      return List.of();
    }
  }

  private static Optional<IpPrefix> address(String text) {
    Matcher entry = ENTRY.matcher(text.replaceFirst("%[^\\]]*", ""));
    if (!entry.matches()) {
      return Optional.empty();
    }
    for (int group = 1; group <= entry.groupCount(); group++) {
      if (entry.group(group) != null) {
        return IpPrefix.parse(entry.group(group)).map(TrustedProxies::unmapped);
      }
    }
    return Optional.empty();
  }

  /** Converts IPv4-mapped addresses like ::ffff:10.0.0.1 to IPv4. */
  private static IpPrefix unmapped(IpPrefix address) {
    byte[] bytes = address.address();
    byte[] prefix = new byte[12];
    prefix[10] = (byte) 0xff;
    prefix[11] = (byte) 0xff;
    return address.isIpv6() && Arrays.equals(prefix, Arrays.copyOf(bytes, 12))
        ? new IpPrefix(Arrays.copyOfRange(bytes, 12, 16), 32)
        : address;
  }

  private static String text(IpPrefix address) {
    String text = address.toString();
    return text.substring(0, text.indexOf('/'));
  }
}
