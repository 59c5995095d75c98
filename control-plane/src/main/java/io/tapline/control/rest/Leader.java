package io.tapline.control.rest;

import java.util.Optional;

/** Who leads, where several control planes may. */
public interface Leader {
  /** There is one only, and it leads. */
  Leader ALONE = Optional::empty;

  /** URL of another that leads, empty text if none is known to; nothing if this one leads. */
  Optional<String> elsewhere();
}
