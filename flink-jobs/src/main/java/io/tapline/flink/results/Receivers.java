package io.tapline.flink.results;

import io.tapline.flink.QuerySpec;
import io.tapline.flink.TriggerSpec;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Restricts the resolved addresses to which a query's alerts may be posted:
 *
 * <pre>
 * receiver in the inventory        public  private, loopback  link-local, backplane
 * a name                           yes     no                 no
 * a name with private: true        yes     yes                no
 * an address                       yes     yes                yes
 * </pre>
 *
 * <p>All of a name's addresses must be allowed; a single disallowed one rejects the name. Addresses
 * that do not belong to a single host are never allowed. Immutable.
 *
 * @param privateUrls receivers that the inventory lists as private, or by their address
 */
record Receivers(Set<String> privateUrls, Backplane backplane, Resolver resolver) {
  /** Thrown if a receiver must not be contacted, in which case a retry would not help. */
  static final class RefusedReceiver extends IOException {
    private static final long serialVersionUID = 1L;

    RefusedReceiver(String message) {
      super(message);
    }
  }

  static Receivers of(QuerySpec query, Backplane backplane) {
    Set<String> urls =
        query.processors().stream()
            .map(processor -> processor.trigger())
            .filter(Objects::nonNull)
            .flatMap(trigger -> trigger.webhooks().stream())
            .filter(TriggerSpec.Webhook::privateAddresses)
            .map(TriggerSpec.Webhook::url)
            .collect(Collectors.toSet());
    return new Receivers(urls, backplane, Resolver.SYSTEM);
  }

  /**
   * Resolves a receiver once.
   *
   * @return the receiver's addresses, all of them allowed; connect to them without resolving again
   * @throws RefusedReceiver if one of the addresses is not allowed
   * @throws java.net.UnknownHostException if there is no address
   */
  List<InetAddress> addresses(String url) throws IOException {
    URI uri = URI.create(url);
    String host = uri.getHost();
    boolean literal = host.startsWith("[") || host.matches("[0-9.]+");
    List<InetAddress> addresses = resolver.resolve(host);
    for (InetAddress address : addresses) {
      String fault = fault(address, HttpPost.port(uri), literal, privateUrls.contains(url));
      if (!fault.isEmpty()) {
        throw new RefusedReceiver(
            "%s has the address %s, %s".formatted(host, address.getHostAddress(), fault));
      }
    }
    return addresses;
  }

  private String fault(InetAddress address, int port, boolean literal, boolean isPrivate) {
    AddressKind kind = AddressKind.of(address);
    if (kind == AddressKind.NO_HOST) {
      return "which is not the address of a single host";
    } else if (literal && isPrivate) {
      return "";
    } else if (backplane.holds(address, port, resolver)) {
      return "which belongs to a server that Tapline uses; list the address itself to allow it";
    } else if (kind == AddressKind.LINK_LOCAL) {
      return "which is link-local; list the address itself to allow it";
    } else if (kind != AddressKind.PUBLIC && !isPrivate) {
      return "which is not public; list the receiver with private: true to allow it";
    }
    return "";
  }
}
