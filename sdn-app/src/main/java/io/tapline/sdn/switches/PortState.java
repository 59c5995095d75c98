package io.tapline.sdn.switches;

/**
 * A port as its switch describes it.
 *
 * @param up whether frames can pass
 */
public record PortState(int number, String name, boolean up) {}
