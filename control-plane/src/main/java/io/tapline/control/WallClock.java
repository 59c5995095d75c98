package io.tapline.control;

import java.time.Instant;

/** The time of day. */
public final class WallClock {
  private WallClock() {}

  /** Returns the time in nanoseconds since the epoch. */
  public static long nowNs() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }
}
