package io.tapline.compiler.text;

import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/** Compares names for equality and similarity. */
public final class Names {
  /** Maximum length of a word for which to suggest a name, which limits the cost. */
  private static final int LONGEST_WORD = 64;

  private static final int LISTED = 12;

  private Names() {}

  /** Normalizes a name: converts it to lower case, and '-' to '_'. */
  public static String normal(String name) {
    return lower(name).replace('-', '_');
  }

  /** Converts only ASCII letters to lower case, since some others become several characters. */
  public static String lower(String text) {
    StringBuilder lower = new StringBuilder(text);
    for (int i = 0; i < lower.length(); i++) {
      char c = lower.charAt(i);
      if (c >= 'A' && c <= 'Z') {
        lower.setCharAt(i, (char) (c + 32));
      }
    }
    return lower.toString();
  }

  public static boolean same(String a, String b) {
    return normal(a).equals(normal(b));
  }

  /**
   * Returns the candidate nearest to {@code word} by edit distance, the first if several are
   * equally near. If none is similar, returns the first that is a prefix of {@code word} or has it
   * as a prefix, or else an empty string.
   */
  public static String nearest(String word, Collection<String> candidates) {
    String normal = normal(word);
    if (normal.isEmpty() || normal.length() > LONGEST_WORD) {
      return "";
    }
    String best = "";
    int bestDistance = Integer.MAX_VALUE;
    for (String candidate : candidates) {
      int distance = distance(normal, normal(candidate));
      if (distance < bestDistance) {
        best = candidate;
        bestDistance = distance;
      }
    }
    boolean isNear =
        bestDistance < normal.length() && bestDistance <= Math.max(1, (normal.length() + 1) / 3);
    return isNear ? best : continuation(normal, candidates);
  }

  /** Returns the first candidate that has the word as a prefix, or that is a prefix of the word. */
  private static String continuation(String normal, Collection<String> candidates) {
    if (normal.length() < 2) {
      return "";
    }
    return candidates.stream()
        .filter(c -> normal(c).startsWith(normal) || c.length() > 2 && normal.startsWith(normal(c)))
        .findFirst()
        .orElse("");
  }

  /**
   * Returns the optimal string alignment distance: insertions, deletions, substitutions and
   * transpositions of adjacent characters.
   */
  static int distance(String a, String b) {
    int[] older = new int[b.length() + 1];
    int[] previous = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      previous[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int[] current = new int[b.length() + 1];
      current[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int replaced = previous[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        current[j] = Math.min(replaced, 1 + Math.min(previous[j], current[j - 1]));
        if (i > 1
            && j > 1
            && a.charAt(i - 1) == b.charAt(j - 2)
            && a.charAt(i - 2) == b.charAt(j - 1)) {
          current[j] = Math.min(current[j], older[j - 2] + 1);
        }
      }
      older = previous;
      previous = current;
    }
    return previous[b.length()];
  }

  /** Returns "a, b, c" or, for many names, the first ones and the number of the others. */
  public static String list(Collection<String> names) {
    if (names.size() <= LISTED) {
      return String.join(", ", names);
    }
    String first = names.stream().limit(LISTED).collect(Collectors.joining(", "));
    return "%s and %d more".formatted(first, names.size() - LISTED);
  }

  /** Returns "a", "a or b", "a, b or c". */
  public static String either(List<String> names) {
    int last = names.size() - 1;
    return last <= 0
        ? String.join("", names)
        : String.join(", ", names.subList(0, last)) + " or " + names.get(last);
  }

  /** Returns a word in the form that errors use: quoted, and truncated if it is long. */
  public static String quoted(String word) {
    return word.codePointCount(0, word.length()) <= LONGEST_WORD
        ? "'" + word + "'"
        : "'" + word.substring(0, word.offsetByCodePoints(0, LONGEST_WORD)) + "…'";
  }
}
