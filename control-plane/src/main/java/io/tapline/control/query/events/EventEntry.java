package io.tapline.control.query.events;

/**
 * Events that one monitor sent together, as stored in the query's log.
 *
 * @param number position in the log, from 1 without gaps
 * @param json as in {@code schema/redis.md}; callers must not change it
 */
public record EventEntry(long number, byte[] json) {}
