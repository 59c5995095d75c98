package io.tapline.control.testbed;

/**
 * A process of a testbed.
 *
 * @param pid PID of the latest instance; 0 before there was one
 * @param restarts number of restarts
 */
public record TestbedProcess(String name, boolean running, long pid, int restarts) {}
