package io.tapline.control.query.sampling;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Remembers when a topic's records were written and at which sampling rate. The weights of unread
 * records follow from this, because a monitor also closes batches on a timer, so that a record
 * contains few tuples at a low rate.
 *
 * <pre>
 *   measured   0 s        1 s        2 s        3 s
 *   written    0          10         20         30         records
 *   sent       1          1          0.1        0.1        rate, effective within about a second
 *   assumed         1          1         0.55              rate of the records in between
 *   records 5 to 25 stand for 0.5 · 1 + 1 · 1 + 0.5 · 0.55 = 1.775 seconds of all flows
 * </pre>
 *
 * <p>Not thread-safe.
 */
final class TopicHistory {
  /** Maximum number of periods, about an hour. */
  private static final int MAX_PERIODS = 4096;

  /** The records between two measurements. */
  private record Period(double seconds, long from, long to, double rate) {}

  private final Deque<Period> periods = new ArrayDeque<>();
  private long written;
  private double rate;
  private double rateBefore;

  /**
   * Creates the history of an empty topic.
   *
   * @param rate rate at which the topic is sampled from the beginning
   */
  TopicHistory(double rate) {
    this.rate = rate;
    this.rateBefore = rate;
  }

  /**
   * Adds a measurement.
   *
   * @param seconds time since the last measurement
   * @param records number of records written to the topic since the beginning
   */
  void add(double seconds, long records) {
    if (records > written) {
      periods.addLast(new Period(seconds, written, records, (rate + rateBefore) / 2));
      written = records;
    }
    if (periods.size() > MAX_PERIODS) {
      periods.removeFirst();
    }
  }

  /** Sets the rate that is sent to the monitor at this measurement. */
  void setRate(double newRate) {
    rateBefore = rate;
    rate = newRate;
  }

  /**
   * Returns the time in seconds in which all flows, without sampling, would have produced the
   * tuples of the records {@code first} (inclusive) to {@code last} (exclusive).
   */
  double fullSeconds(long first, long last) {
    double sum = 0;
    for (Period period : periods) {
      long wanted = Math.min(last, period.to) - Math.max(first, period.from);
      if (wanted > 0) {
        sum += period.rate * period.seconds * wanted / (period.to - period.from);
      }
    }
    return sum;
  }

  /** Drops the periods whose records all precede this one. */
  void forgetBefore(long record) {
    while (!periods.isEmpty() && periods.getFirst().to <= record) {
      periods.removeFirst();
    }
  }
}
