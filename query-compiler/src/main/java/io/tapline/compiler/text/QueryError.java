package io.tapline.compiler.text;

import java.util.Comparator;

/**
 * One error in a query. The query's author can fix it: every error that the compiler reports is the
 * user's fault (wrong usage, HTTP 400), never the system's.
 *
 * @param code kind of error, for programs
 * @param line line, from 1
 * @param column column, from 1, in code points
 * @param length code points to underline, at least 1
 * @param message the error, without its position
 * @param expected valid input at that position; may be empty
 * @param suggestion the valid word nearest to the given one; empty if none is similar
 */
public record QueryError(
    Code code,
    int line,
    int column,
    int length,
    String message,
    String expected,
    String suggestion) {

  /** The kind of error. */
  public enum Code {
    /** The text violates the grammar. */
    SYNTAX,
    /** A clause is missing, repeated, or out of order. */
    CLAUSE,
    /** A parser, processor, argument, field or host does not exist. */
    UNKNOWN_NAME,
    /** A value has the wrong type or form. */
    TYPE,
    /** A value has the right type but is out of range. */
    RANGE,
    /** Parts are valid individually but not together. */
    CONFLICT,
    /** The caller lacks a right that the query requires. */
    FORBIDDEN,
    /** The query exceeds a size limit. */
    TOO_LARGE
  }

  public static final Comparator<QueryError> BY_POSITION =
      Comparator.comparingInt(QueryError::line).thenComparingInt(QueryError::column);

  static QueryError at(Span span, Code code, String message, String expected, String suggestion) {
    return new QueryError(
        code, span.line(), span.column(), span.length(), message, expected, suggestion);
  }
}
