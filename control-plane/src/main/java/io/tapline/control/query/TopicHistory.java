package io.tapline.control.query;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * When a topic's records were written and which share of flows they hold, so that records which
 * nobody has read yet can be weighed: a monitor cuts batches by time, too, and at a low rate a
 * record holds little.
 *
 * <pre>
 *   looks      0 s        1 s        2 s        3 s
 *   written    0          10         20         30         records
 *   told       1          1          0.1        0.1        rate, in force within a second or so
 *   taken for       1          1         0.55              rate of the records in between
 *   records 5 to 25 stand for 0.5 · 1 + 1 · 1 + 0.5 · 0.55 = 1.775 seconds of all flows
 * </pre>
 *
 * <p>Not thread-safe.
 */
final class TopicHistory {
  /** Longer ago than an hour of looks nothing is remembered. */
  private static final int MOST_PERIODS = 4096;

  /** Between two looks. */
  private record Period(double seconds, long from, long to, double rate) {}

  private final Deque<Period> periods = new ArrayDeque<>();
  private long written;
  private double rate;
  private double rateBefore;

  /**
   * A topic without records.
   *
   * @param rate in force
   */
  TopicHistory(double rate) {
    this.rate = rate;
    this.rateBefore = rate;
  }

  /**
   * A look, so many seconds after the one before.
   *
   * @param records in the topic since the beginning
   */
  void add(double seconds, long records) {
    if (records > written) {
      periods.addLast(new Period(seconds, written, records, (rate + rateBefore) / 2));
      written = records;
    }
    if (periods.size() > MOST_PERIODS) {
      periods.removeFirst();
    }
  }

  /** What the monitor is told at this look. */
  void tell(double newRate) {
    rateBefore = rate;
    rate = newRate;
  }

  /** Seconds for which all flows would have filled the records from one up to before another. */
  double fullSeconds(long from, long to) {
    double sum = 0;
    for (Period period : periods) {
      long wanted = Math.min(to, period.to) - Math.max(from, period.from);
      if (wanted > 0) {
        sum += period.rate * period.seconds * wanted / (period.to - period.from);
      }
    }
    return sum;
  }

  /** Forgets the periods whose records all come before that one. */
  void forgetBefore(long record) {
    while (!periods.isEmpty() && periods.getFirst().to <= record) {
      periods.removeFirst();
    }
  }
}
