package io.tapline.flink.results;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

/** Resolves host names. */
interface Resolver {
  Resolver SYSTEM = host -> List.of(InetAddress.getAllByName(host));

  /**
   * Returns all addresses of a host name, or an address itself, IPv6 with or without brackets.
   *
   * @throws UnknownHostException if there are none
   */
  List<InetAddress> resolve(String host) throws UnknownHostException;

  /** Returns all addresses of a host; none if it is unknown. */
  default List<InetAddress> find(String host) {
    try {
      return resolve(host);
    } catch (UnknownHostException e) {
      return List.of();
    }
  }
}
