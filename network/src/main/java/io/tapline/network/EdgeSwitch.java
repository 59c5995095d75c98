package io.tapline.network;

import java.util.List;

/**
 * An edge switch and the addresses of its hosts.
 *
 * @param hosts addresses of its hosts; no address is under two switches
 */
public record EdgeSwitch(String id, List<IpPrefix> hosts) {}
