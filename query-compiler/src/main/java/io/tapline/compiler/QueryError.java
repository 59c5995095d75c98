package io.tapline.compiler;

import java.util.Comparator;

/**
 * One thing that is wrong with a query. Whoever wrote the query can mend it: every error of the
 * compiler is the user's fault (wrong usage, HTTP 400), never the system's.
 *
 * @param code what kind of error, for programs
 * @param line from 1
 * @param column from 1, in code points
 * @param length code points to underline, at least 1
 * @param message what is wrong, without the position
 * @param expected what would be right here; may be empty
 * @param suggestion the valid word nearest to what was written; empty if none is near
 */
public record QueryError(
    Code code,
    int line,
    int column,
    int length,
    String message,
    String expected,
    String suggestion) {

  /** What kind of error. */
  public enum Code {
    /** The text does not follow the grammar. */
    SYNTAX,
    /** A clause is missing, given twice, or out of order. */
    CLAUSE,
    /** A parser, processor, argument, field or host that does not exist. */
    UNKNOWN_NAME,
    /** A value of the wrong type or form. */
    TYPE,
    /** A value of the right type outside its range. */
    RANGE,
    /** Parts that are right alone but not together. */
    CONFLICT,
    /** The asker may not see what the query asks for. */
    FORBIDDEN,
    /** The query is beyond what one query may hold. */
    TOO_LARGE
  }

  static final Comparator<QueryError> BY_POSITION =
      Comparator.comparingInt(QueryError::line).thenComparingInt(QueryError::column);

  static QueryError at(Span span, Code code, String message, String expected, String suggestion) {
    return new QueryError(
        code, span.line(), span.column(), span.length(), message, expected, suggestion);
  }
}
