package io.tapline.control.probe;

import java.time.Duration;

/** The time until which a question may take. */
record Deadline(long atNs) {
  static Deadline in(Duration time) {
    return new Deadline(System.nanoTime() + time.toNanos());
  }

  /** Returns the milliseconds left, at least 1: sockets take 0 for no limit. */
  int leftMs() {
    return (int) Math.max(1, (atNs - System.nanoTime()) / 1_000_000);
  }

  /** Returns the same deadline, or an earlier one after this time. */
  Deadline within(Duration time) {
    return new Deadline(Math.min(atNs, System.nanoTime() + time.toNanos()));
  }
}
