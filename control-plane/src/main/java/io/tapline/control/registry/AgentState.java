package io.tapline.control.registry;

import java.util.List;

/**
 * The last known state of a host's agent.
 *
 * @param up true if it has a lease
 * @param sinceNs time at which the agent came up or disconnected, in nanoseconds since the epoch
 * @param taps taps of switches that its monitor listens on
 * @param polledTimes true if its monitor's port stamps packets when they are polled
 * @param changesTriggers true if it can change the triggers of a running query
 * @param capacityMbps maximum mirrored traffic
 * @param multilog HOST:PORT of the host's MultiLog node; empty if it has none
 * @param load load of the host, averaged over a minute
 * @param cores number of the host's cores
 * @param monitorStarts number of times that its monitor was started
 * @param clock offset of the host's clock from the control plane's; null before it has been
 *     measured
 * @param queries its assigned queries
 */
public record AgentState(
    String name,
    boolean up,
    long sinceNs,
    String version,
    String networkInterface,
    List<AgentTap> taps,
    boolean polledTimes,
    boolean changesTriggers,
    int capacityMbps,
    List<String> parsers,
    String multilog,
    double load,
    int cores,
    int monitorStarts,
    ClockOffset.Estimate clock,
    List<String> queries) {}
