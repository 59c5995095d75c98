package io.tapline.compiler.conditions;

import io.tapline.compiler.text.Names;
import java.util.Set;
import java.util.regex.Pattern;

/** Decides which words of a condition are field names. */
public sealed interface Vocabulary {
  /** Returns true for a field name. */
  boolean isField(String word);

  /** Returns true if dashes join words, as in {@code tcp-flags}; subtraction then needs a space. */
  boolean hasDashes();

  /** The vocabulary of rows whose fields are known. */
  record Known(Set<String> fields) implements Vocabulary {
    @Override
    public boolean isField(String word) {
      return fields.contains(word);
    }

    @Override
    public boolean hasDashes() {
      return false;
    }
  }

  /**
   * Accepts any name that is not a keyword. The compiler later resolves it as a field (in any
   * spelling), a host or a string.
   */
  record Any() implements Vocabulary {
    private static final Pattern NAME = Pattern.compile("[\\p{L}_][\\p{L}\\p{N}_.-]*");
    private static final Set<String> RESERVED =
        Set.of("and", "or", "not", "in", "like", "contains", "has", "true", "false");

    @Override
    public boolean isField(String word) {
      return NAME.matcher(word).matches() && !RESERVED.contains(Names.lower(word));
    }

    @Override
    public boolean hasDashes() {
      return true;
    }
  }
}
