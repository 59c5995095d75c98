package io.tapline.sdn.controller;

import java.util.concurrent.Callable;

/** Waits for conditions, with a generous timeout. */
public final class Await {
  private static final long MAX_NS = 60_000_000_000L;

  private Await() {}

  public static void until(Callable<Boolean> condition) {
    long endNs = System.nanoTime() + MAX_NS;
    try {
      while (!condition.call()) {
        if (System.nanoTime() > endNs) {
          throw new AssertionError("the condition does not hold after a minute");
        }
        Thread.sleep(20);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
