package io.tapline.control.rest;

import java.util.Optional;

/** Reports which of several control planes is the leader. */
public interface Leader {
  /** The leader of a deployment with a single control plane: this one. */
  Leader ALONE = Optional::empty;

  /**
   * Returns {@code Optional.empty()} if this control plane is the leader; otherwise, the URL of the
   * leader, or an empty string if none is known.
   */
  Optional<String> elsewhere();
}
