package io.tapline.control.testing;

import java.time.Duration;
import java.util.concurrent.Callable;

/** Waits for conditions instead of for fixed times. */
public final class Await {
  private Await() {}

  public static void until(String description, Duration timeout, Callable<Boolean> condition)
      throws Exception {
    long deadline = System.nanoTime() + timeout.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("not within " + timeout.toSeconds() + " s: " + description);
      }
      Thread.sleep(10);
    }
  }
}
