package io.tapline.control.cli.console;

import java.util.List;
import java.util.Optional;

/** Looks up names that users type. */
public final class Names {
  private Names() {}

  /**
   * Returns the candidate that was found for a name. If it is empty, throws a usage error that
   * lists all names and suggests the nearest.
   */
  public static <T> T find(String name, String kind, Optional<T> candidate, List<String> names) {
    return candidate.orElseThrow(
        () ->
            new UsageException(
                "unknown %s '%s'%s; available: %s"
                    .formatted(kind, name, nearest(name, names), String.join(", ", names))));
  }

  /** Returns ", did you mean x?", or an empty string if no name is similar. */
  public static String nearest(String name, List<String> names) {
    String nearest = io.tapline.compiler.text.Names.nearest(name, names);
    return nearest.isEmpty() ? "" : ", did you mean " + nearest + "?";
  }
}
