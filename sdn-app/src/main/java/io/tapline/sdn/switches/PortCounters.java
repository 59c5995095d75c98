package io.tapline.sdn.switches;

/** The counters of a port since its creation. */
public record PortCounters(
    int port,
    long rxPackets,
    long txPackets,
    long rxBytes,
    long txBytes,
    long rxDropped,
    long txDropped) {}
