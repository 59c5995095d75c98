package io.tapline.compiler.text;

/**
 * A remark for the author of a query.
 *
 * @param level {@code WARNING} if the result may surprise, {@code NOTE} for an explanation
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
