package io.tapline.control.rest;

import java.util.Optional;

/** Tells which of several control planes leads. */
public interface Leader {
  /** The only control plane, which leads. */
  Leader ALONE = Optional::empty;

  /**
   * Returns the URL of another leader, an empty string if none is known; nothing if this one leads.
   */
  Optional<String> elsewhere();
}
