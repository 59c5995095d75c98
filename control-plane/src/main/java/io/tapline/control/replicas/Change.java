package io.tapline.control.replicas;

/**
 * Something that was done to a pool.
 *
 * @param timeNs end of the window for which it was done
 * @param servers that there are now
 * @param pages that more than the first server have now
 * @param reason for people
 */
public record Change(long timeNs, int servers, int pages, String reason) {}
