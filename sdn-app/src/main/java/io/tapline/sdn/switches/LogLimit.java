package io.tapline.sdn.switches;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Limits log lines about peers: logs the first line about a subject, then at most one per minute,
 * and at most 10 lines per second in total. Thread-safe.
 */
public final class LogLimit {
  private static final long AGAIN_NS = 60_000_000_000L;
  private static final int LINES_PER_SECOND = 10;
  private static final int MAX_SUBJECTS = 1024;

  private final TokenBucket lines = new TokenBucket(LINES_PER_SECOND, System.nanoTime());
  private final Map<String, Long> logged =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Long> eldest) {
          return size() > MAX_SUBJECTS;
        }
      };

  /** Returns true if a line about this subject may be logged now. */
  public synchronized boolean take(String subject, long nowNs) {
    Long last = logged.get(subject);
    if (last != null && nowNs - last < AGAIN_NS || !lines.take(nowNs)) {
      return false;
    }
    // Moves the subject to the end, since the map evicts the one logged longest ago.
    logged.remove(subject);
    logged.put(subject, nowNs);
    return true;
  }
}
