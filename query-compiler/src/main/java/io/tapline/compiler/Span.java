package io.tapline.compiler;

/**
 * Where something stands in a query's text.
 *
 * @param line from 1
 * @param column from 1, in code points; a tab is one
 * @param length in code points, on that line, at least 1
 */
public record Span(int line, int column, int length) {}
