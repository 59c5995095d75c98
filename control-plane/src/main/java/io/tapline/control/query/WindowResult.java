package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * One window's result.
 *
 * @param entry ID of the window's entry in the query's stream, which increases from window to
 *     window
 * @param processor index in PROCESS
 * @param name name of the processor
 * @param rows array of result rows
 * @param completeness counters of the input that the rows are based on
 */
public record WindowResult(
    String entry,
    int processor,
    String name,
    long windowStartNs,
    long windowEndNs,
    JsonNode rows,
    JsonNode completeness) {}
