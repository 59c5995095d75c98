package io.tapline.control.rest;

import java.util.Optional;

/** Reports which of several control planes leads. */
public interface Leader {
  /** The leader of a deployment with a single control plane: this one. */
  Leader ALONE = Optional::empty;

  /**
   * Returns the URL of another leader (an empty string if none is known); empty if this control
   * plane leads.
   */
  Optional<String> elsewhere();
}
