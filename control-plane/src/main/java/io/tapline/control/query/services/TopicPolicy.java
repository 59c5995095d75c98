package io.tapline.control.query.services;

import java.time.Duration;

/**
 * The retention and the maximum size of topics.
 *
 * @param keptAfterEnd retention after a query's end, during which its tuples can be read again
 * @param liveBytes bytes per partition of a query without an end; older records are deleted, and
 *     count as lost if the job had not read them
 * @param orphanAfter time without new records after which another server's topic is deleted, since
 *     that server must have crashed
 */
public record TopicPolicy(Duration keptAfterEnd, long liveBytes, Duration orphanAfter) {
  private static final long SEGMENT_BYTES = 64L << 20;
  private static final Duration ORPHANED = Duration.ofMinutes(10);

  public TopicPolicy {
    if (liveBytes < 4 * 1024 * 1024) {
      throw new IllegalArgumentException("a topic of less than 4 MiB can't store a batch");
    }
  }

  /** Returns the default: no retention after the end, and 1 GiB per partition of a live query. */
  public static TopicPolicy defaults() {
    return of(Duration.ZERO, 1L << 30);
  }

  /** Returns a policy that deletes orphans ten minutes after their own server would have. */
  public static TopicPolicy of(Duration keptAfterEnd, long liveBytes) {
    return new TopicPolicy(keptAfterEnd, liveBytes, keptAfterEnd.plus(ORPHANED));
  }

  /**
   * Returns the size of a segment. Kafka deletes only whole segments, so {@code liveBytes} is
   * divided into at least four.
   */
  long segmentBytes(boolean isLive) {
    return isLive ? Math.min(SEGMENT_BYTES, Math.max(1 << 20, liveBytes / 4)) : SEGMENT_BYTES;
  }
}
