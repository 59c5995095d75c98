package io.tapline.control.replicas;

/**
 * A change of a pool.
 *
 * @param timeNs end of the window that caused it
 * @param servers number of servers now
 * @param pages number of pages that more than the first server now have
 * @param reason reason, for users
 */
public record Change(long timeNs, int servers, int pages, String reason) {}
