package io.tapline.control.registry;

import java.util.List;

/**
 * A host's agent as it was last heard of.
 *
 * @param up whether it holds a lease
 * @param sinceNs when it came up, or was lost: nanoseconds since the epoch
 * @param capacityMbps mirrored traffic that it may be given
 * @param multilog HOST:PORT of the host's MultiLog node; empty: none
 * @param load of the host, averaged over a minute
 * @param cores of the host
 * @param monitorStarts how often its monitor was started
 * @param clock of the host against this one's; null before it was measured
 * @param queries that it was assigned
 */
public record AgentState(
    String name,
    boolean up,
    long sinceNs,
    String version,
    String networkInterface,
    int capacityMbps,
    List<String> parsers,
    String multilog,
    double load,
    int cores,
    int monitorStarts,
    ClockOffset.Estimate clock,
    List<String> queries) {}
