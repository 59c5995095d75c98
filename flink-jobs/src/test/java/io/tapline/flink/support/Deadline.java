package io.tapline.flink.support;

import java.time.Duration;
import java.util.concurrent.Callable;

/** Waits for conditions. */
public final class Deadline {
  private static final Duration TIMEOUT = Duration.ofSeconds(90);

  private Deadline() {}

  public static void await(String awaited, Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + TIMEOUT.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("waited " + TIMEOUT.toSeconds() + " s for " + awaited);
      }
      Thread.sleep(20);
    }
  }
}
