package io.tapline.matrix;

/** A service did not allow the operation. Any other exception means that a probe is broken. */
final class Refused extends Exception {
  private static final long serialVersionUID = 1L;

  Refused(String condition) {
    super(condition);
  }
}
