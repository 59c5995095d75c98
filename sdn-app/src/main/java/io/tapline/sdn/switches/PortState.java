package io.tapline.sdn.switches;

/**
 * A port as described by its switch.
 *
 * @param up true if frames can pass
 * @param bitsPerSecond current speed; 0 if the switch does not know it
 */
public record PortState(int number, String name, boolean up, long bitsPerSecond) {}
