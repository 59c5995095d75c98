package io.tapline.sdn.switches;

/** What a port has counted since it is there. */
public record PortCounters(
    int port,
    long rxPackets,
    long txPackets,
    long rxBytes,
    long txBytes,
    long rxDropped,
    long txDropped) {}
