package io.tapline.compiler.text;

import java.util.List;

/** Valid forms of clauses' values, for messages. */
public final class Forms {
  public static final String LIMIT =
      "a duration such as 90s, 500ms, 2m or 1h, or a number of packets such as 5000p";

  public static final String SAMPLE = "a share of flows such as 0.1, auto, or * for every flow";

  /** The forms in which strings may leave a monitor. */
  public static final List<String> OF_TEXTS = List.of("template", "path", "hash", "omit");

  private Forms() {}
}
