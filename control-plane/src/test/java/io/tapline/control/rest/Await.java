package io.tapline.control.rest;

import java.time.Duration;
import java.util.concurrent.Callable;

/** Waits for conditions, never for times. */
final class Await {
  private Await() {}

  static void until(String what, Duration most, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + most.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("not within " + most.toSeconds() + " s: " + what);
      }
      Thread.sleep(10);
    }
  }
}
