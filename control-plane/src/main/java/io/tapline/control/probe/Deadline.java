package io.tapline.control.probe;

import java.time.Duration;

/** The moment until which a question may take. */
record Deadline(long atNs) {
  static Deadline in(Duration time) {
    return new Deadline(System.nanoTime() + time.toNanos());
  }

  /** Milliseconds until then, at least 1: sockets take 0 for no limit. */
  int leftMs() {
    return (int) Math.max(1, (atNs - System.nanoTime()) / 1_000_000);
  }

  /** The same deadline, or an earlier one after this time. */
  Deadline within(Duration time) {
    return new Deadline(Math.min(atNs, System.nanoTime() + time.toNanos()));
  }
}
