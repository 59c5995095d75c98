package io.tapline.compiler.text;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/**
 * Collects the errors and notes of one query. Keeps at most {@link #MAX_ERRORS} errors, since more
 * would not help the author.
 */
public final class Errors {
  public static final int MAX_ERRORS = 50;

  private final List<QueryError> errors = new ArrayList<>();
  private final List<Note> notes = new ArrayList<>();
  private final Optional<String> subnets;
  private int firstForeignLine = Integer.MAX_VALUE;
  private Span use;
  private String used;

  /** Creates an empty collection for a caller that may see the whole network. */
  public Errors() {
    this(Optional.empty());
  }

  /**
   * Creates an empty collection.
   *
   * @param subnets the part of the network that the caller may see; empty for the whole network
   */
  public Errors(Optional<String> subnets) {
    this.subnets = subnets;
  }

  /**
   * Declares that errors from this line onwards belong to a named query, so they are shown at the
   * USE clause that names it.
   */
  public void foreignFrom(int line, Span usedAt, String name) {
    firstForeignLine = line;
    use = usedAt;
    used = name;
  }

  public void add(
      Span span, QueryError.Code code, String message, String expected, String suggestion) {
    if (errors.size() < MAX_ERRORS && span.line() >= firstForeignLine) {
      String inNamed = "in the query %s: %s".formatted(Names.quoted(used), message);
      QueryError error = QueryError.at(use, code, inNamed, expected, "");
      if (!errors.contains(error)) {
        errors.add(error);
      }
    } else if (errors.size() < MAX_ERRORS) {
      errors.add(QueryError.at(span, code, message, expected, suggestion));
    }
  }

  /**
   * Reports an error in a host, an address or a network. If it is in a named query, hides the
   * details from callers with a restricted scope.
   */
  public void place(
      Span span, QueryError.Code code, String message, String expected, String suggestion) {
    if (span.line() >= firstForeignLine && subnets.isPresent()) {
      String hidden = "it names something unknown or outside your subnets";
      add(span, QueryError.Code.FORBIDDEN, hidden, "FROM or TO within " + subnets.get(), "");
    } else {
      add(span, code, message, expected, suggestion);
    }
  }

  /** Reports a host or network that does not exist. */
  public void unknownPlace(Ast.Word word, String kind, String expected, Collection<String> valid) {
    String message = "unknown %s %s".formatted(kind, Names.quoted(word.text()));
    String nearest = Names.nearest(word.text(), valid);
    place(word.span(), QueryError.Code.UNKNOWN_NAME, message, expected, nearest);
  }

  /** Reports a name that does not exist; lists the valid ones and suggests the nearest. */
  public void unknown(Ast.Word word, String kind, Collection<String> valid) {
    unknown(word, kind, Names.list(valid), valid);
  }

  public void unknown(Ast.Word word, String kind, String expected, Collection<String> valid) {
    int position = kind.indexOf(" of ");
    String noun = position < 0 ? kind : kind.substring(0, position);
    String owner = position < 0 ? "" : kind.substring(position);
    String message = "unknown %s %s%s".formatted(noun, Names.quoted(word.text()), owner);
    add(
        word.span(),
        QueryError.Code.UNKNOWN_NAME,
        message,
        expected,
        Names.nearest(word.text(), valid));
  }

  public void type(Span span, String message, String expected) {
    add(span, QueryError.Code.TYPE, message, expected, "");
  }

  public void range(Span span, String message, String expected) {
    add(span, QueryError.Code.RANGE, message, expected, "");
  }

  public void conflict(Span span, String message, String expected) {
    add(span, QueryError.Code.CONFLICT, message, expected, "");
  }

  public void note(String message) {
    notes.add(Note.note(message));
  }

  public void warning(String message) {
    notes.add(Note.warning(message));
  }

  public boolean any() {
    return !errors.isEmpty();
  }

  public int count() {
    return errors.size();
  }

  public List<Note> notes() {
    return notes.stream().distinct().toList();
  }

  /**
   * Returns the errors by position; errors at the same position are in the order in which they were
   * found.
   */
  public List<QueryError> sorted() {
    return errors.stream().sorted(QueryError.BY_POSITION).toList();
  }
}
