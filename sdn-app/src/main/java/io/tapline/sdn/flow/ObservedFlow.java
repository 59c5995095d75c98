package io.tapline.sdn.flow;

/** A flow as a switch reports it, with its counters. */
public record ObservedFlow(Flow flow, long packets, long bytes) {}
