package io.tapline.sdn.flow;

/** The identity of a flow on a switch: keys are unique. */
public record FlowKey(int table, int priority, FlowMatch match) {}
