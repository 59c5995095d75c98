package io.tapline.flink.results;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

/** Asks for the addresses of names. */
interface Resolver {
  Resolver SYSTEM = host -> List.of(InetAddress.getAllByName(host));

  /**
   * All addresses of a host: a name or an address, IPv6 with or without brackets.
   *
   * @throws UnknownHostException if there are none
   */
  List<InetAddress> resolve(String host) throws UnknownHostException;

  /** The same; none of a host that is not known. */
  default List<InetAddress> find(String host) {
    try {
      return resolve(host);
    } catch (UnknownHostException e) {
      return List.of();
    }
  }
}
