package io.tapline.sdn.switches;

/**
 * A port as described by its switch.
 *
 * @param up whether frames can pass
 */
public record PortState(int number, String name, boolean up) {}
