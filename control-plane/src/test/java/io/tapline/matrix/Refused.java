package io.tapline.matrix;

/**
 * Thrown if a service does not allow an operation. Any other exception means that the service is
 * unreachable or the probe is broken.
 */
final class Refused extends Exception {
  private static final long serialVersionUID = 1L;

  Refused(String condition) {
    super(condition);
  }
}
