package io.tapline.control.testbed;

/**
 * A process as the supervisor noted it.
 *
 * @param pid null while there is none
 * @param started when the kernel says that it began, so that another with its number is not taken
 *     for it
 * @param restarts how often it was started again
 */
record Supervised(String name, Long pid, Long started, int restarts) {}
