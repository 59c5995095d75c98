package io.tapline.compiler.text;

/**
 * A position in a query's text.
 *
 * @param line line, from 1
 * @param column column, from 1, in code points; a tab is one
 * @param length length in code points, on that line, at least 1
 */
public record Span(int line, int column, int length) {}
