package io.tapline.control.query;

import java.time.Duration;

/**
 * How long topics are there, and how large.
 *
 * @param keptAfterEnd of a query, so that its tuples can be read once more
 * @param liveBytes kept per partition of a query without an end; what is older goes, and counts as
 *     lost if the job had not read it
 * @param orphanAfter a topic of a query that is not ours is deleted once nothing was written to it
 *     for so long: its server was killed
 */
public record TopicPolicy(Duration keptAfterEnd, long liveBytes, Duration orphanAfter) {
  private static final long SEGMENT_BYTES = 64L << 20;
  private static final Duration ORPHANED = Duration.ofMinutes(10);

  public TopicPolicy {
    if (liveBytes < 4 * 1024 * 1024) {
      throw new IllegalArgumentException("a topic of less than 4 MiB holds no batch");
    }
  }

  /** Nothing is kept, and 1 GiB of a live query. */
  public static TopicPolicy defaults() {
    return of(Duration.ZERO, 1L << 30);
  }

  /** Orphans go ten minutes after their server would have deleted them. */
  public static TopicPolicy of(Duration keptAfterEnd, long liveBytes) {
    return new TopicPolicy(keptAfterEnd, liveBytes, keptAfterEnd.plus(ORPHANED));
  }

  /** Kafka deletes whole segments: a few of them make up what is kept. */
  long segmentBytes(boolean live) {
    return live ? Math.min(SEGMENT_BYTES, Math.max(1 << 20, liveBytes / 4)) : SEGMENT_BYTES;
  }
}
