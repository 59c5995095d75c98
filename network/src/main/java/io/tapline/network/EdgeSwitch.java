package io.tapline.network;

import java.util.List;

/**
 * An edge switch and the addresses of its hosts.
 *
 * @param hosts the hosts' addresses; an address must not be under two switches
 */
public record EdgeSwitch(String id, List<IpPrefix> hosts) {}
