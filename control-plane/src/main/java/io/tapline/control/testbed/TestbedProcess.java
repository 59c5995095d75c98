package io.tapline.control.testbed;

/**
 * A process of a testbed.
 *
 * @param pid PID that the supervisor recorded; 0 before a start or restart
 * @param restarts number of restarts
 */
public record TestbedProcess(String name, boolean running, long pid, int restarts) {}
