package io.tapline.control.testbed;

/**
 * A process of a testbed.
 *
 * @param pid of the last that there was; 0 before there was one
 * @param restarts how often it was started again
 */
public record TestbedProcess(String name, boolean running, long pid, int restarts) {}
