package io.tapline.control.probe;

import java.time.Duration;

/** The time by which a check must be complete. */
record Deadline(long atNs) {
  static Deadline in(Duration time) {
    return new Deadline(System.nanoTime() + time.toNanos());
  }

  /** Returns the milliseconds left, at least 1, since sockets interpret 0 as no limit. */
  int leftMs() {
    return (int) Math.max(1, (atNs - System.nanoTime()) / 1_000_000);
  }

  /** Returns this deadline, or the end of the given time from now if that is earlier. */
  Deadline within(Duration time) {
    return new Deadline(Math.min(atNs, System.nanoTime() + time.toNanos()));
  }
}
