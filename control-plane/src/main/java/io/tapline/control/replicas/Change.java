package io.tapline.control.replicas;

/**
 * A change to a pool's servers or pages.
 *
 * @param timeNs end of the window that caused it
 * @param servers number of servers after the change
 * @param pages number of pages that are now also on servers other than the first
 * @param reason explanation that users see
 */
public record Change(long timeNs, int servers, int pages, String reason) {}
