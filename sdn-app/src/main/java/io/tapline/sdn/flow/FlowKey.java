package io.tapline.sdn.flow;

/** What makes a flow of a switch that flow: there is one of each. */
public record FlowKey(int table, int priority, FlowMatch match) {}
