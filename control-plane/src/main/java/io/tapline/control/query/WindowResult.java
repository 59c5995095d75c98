package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * One window's result.
 *
 * @param entry its ID in the query's stream: grows from window to window
 * @param processor index in PROCESS
 * @param name of the processor
 * @param rows array of result rows
 * @param completeness what the rows rest on
 */
public record WindowResult(
    String entry,
    int processor,
    String name,
    long windowStartNs,
    long windowEndNs,
    JsonNode rows,
    JsonNode completeness) {}
