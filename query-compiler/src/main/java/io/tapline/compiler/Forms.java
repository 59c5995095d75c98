package io.tapline.compiler;

import java.util.List;

/** How values of clauses are written, for messages. */
final class Forms {
  static final String LIMIT =
      "a duration such as 90s, 500ms, 2m or 1h, or a number of packets such as 5000p";

  static final String SAMPLE = "a share of flows such as 0.1, auto, or * for every flow";

  /** The forms in which texts may leave a monitor. */
  static final List<String> OF_TEXTS = List.of("template", "path", "hash", "omit");

  private Forms() {}
}
