package io.tapline.compiler;

/**
 * Something that a query's author should know although the query compiles.
 *
 * @param level whether the result may surprise ({@code WARNING}) or is only explained ({@code
 *     NOTE})
 */
public record Note(Level level, String message) {
  public enum Level {
    NOTE,
    WARNING
  }

  static Note note(String message) {
    return new Note(Level.NOTE, message);
  }

  public static Note warning(String message) {
    return new Note(Level.WARNING, message);
  }
}
