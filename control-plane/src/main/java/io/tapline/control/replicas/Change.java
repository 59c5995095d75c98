package io.tapline.control.replicas;

/**
 * A change of a pool.
 *
 * @param timeNs end of the window that caused it
 * @param servers number of servers now
 * @param pages number of pages that are now on more servers than the first
 * @param reason reason, for users
 */
public record Change(long timeNs, int servers, int pages, String reason) {}
