package io.tapline.control.testing;

import java.time.Duration;
import java.util.concurrent.Callable;

/** Waits for conditions instead of fixed times. */
public final class Await {
  private Await() {}

  public static void until(String what, Duration most, Callable<Boolean> condition)
      throws Exception {
    long deadline = System.nanoTime() + most.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("not within " + most.toSeconds() + " s: " + what);
      }
      Thread.sleep(10);
    }
  }
}
