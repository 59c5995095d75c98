package io.tapline.control.testbed;

/**
 * A process as the supervisor recorded it.
 *
 * @param pid null while it does not run
 * @param started start time according to the kernel, which distinguishes it from another process
 *     with the same PID
 * @param restarts number of restarts
 */
record Supervised(String name, Long pid, Long started, int restarts) {}
