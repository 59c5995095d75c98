package io.tapline.control.query.events;

/**
 * Events that one monitor sent together, as they are in the query's log.
 *
 * @param number its place in the log, from 1 without gaps
 * @param json as in {@code schema/redis.md}; callers must not change it
 */
public record EventEntry(long number, byte[] json) {}
