package io.tapline.control.query.sampling;

/**
 * Chooses the sampling rate of a {@code SAMPLE auto} query from the lag of its stream job
 * (NetAlytics §4.2): as many flows as can be processed with a lag near half of the target.
 *
 * <pre>
 *   some lag    the job is saturated: the rate follows its throughput, corrected by the
 *               distance of the lag from half of the target, but is never less than a quarter of
 *               the throughput, so a long backlog does not stop the query
 *   no lag      the rate rises by half per period to nearly the job's overall throughput during its
 *               last lag; the range beyond is unknown: the rate rises by a fiftieth per period, and
 *               faster the longer no lag appears
 * </pre>
 *
 * <p>A job that is delayed by a broker's quota or a checkpoint reads nothing for a while and then a
 * lot. Therefore the rate is lowered according to recent throughput, but raised according to
 * overall throughput. Hence it recovers quickly from a short dip, and rises more slowly near the
 * rate at which the last rise failed. Called once a period. Its only state is its history; not
 * thread-safe.
 */
final class SamplingController {
  private static final double MAX_INCREASE = 1.5;

  /**
   * Smallest factor by which one decrease multiplies the rate: a single measurement may be wrong if
   * a job is just starting or its host was suspended.
   */
  private static final double MAX_DECREASE = 1.0 / 16;

  /** Maximum factor by which the rate rises while there is a lag. */
  private static final double LAGGING_UP = 1.1;

  /**
   * Initial relative rise beyond the known capacity; doubled after each {@link #BOLDER_AFTER}
   * periods without lag.
   */
  private static final double CAREFUL_UP = 0.02;

  private static final int BOLDER_AFTER = 8;

  /** Share of the known capacity up to which the rate rises quickly. */
  private static final double NEARLY = 0.8;

  private static final double MIN_SHARE = 0.25;

  /** Weight of the latest period in the moving average of the job's throughput. */
  private static final double NEW_SHARE = 0.4;

  /**
   * A lag above this share of the target counts as saturation, until it falls below {@link #GONE};
   * a smaller one may consist of records in flight.
   */
  private static final double SATURATED = 0.25;

  private static final double GONE = 0.1;

  /**
   * A lag of more than this many seconds at the job's rate can't consist of records in flight: the
   * job is saturated. Waiting for an average to confirm that would admit seconds of the full load
   * to the topic, and the job would need many times as long to process them.
   */
  private static final double MUCH_SECONDS = 1.25;

  /** Time in seconds within which the lag should return to the target. */
  private static final double HORIZON_SECONDS = 8;

  /** Minimum relative change: a smaller one is not worth cutting a batch short. */
  private static final double MIN_CHANGE = 0.015;

  private final double minRate;
  private final double maxRate;
  private final double targetLagSeconds;
  private double rate;

  /** Tuples per second that the job has recently read. */
  private double lately;

  /** Tuples per second that the job is known to sustain; 0 until known. */
  private double possible;

  /** True while there is a lag. */
  private boolean saturated;

  /** Consecutive periods without a noticeable lag. */
  private int calm;

  private double takenSince;
  private double secondsSince;

  /**
   * Creates a controller.
   *
   * @param maxRate highest rate that the query allows
   * @param targetLagSeconds lag that is tolerated
   */
  SamplingController(double minRate, double maxRate, double targetLagSeconds) {
    this.minRate = minRate;
    this.maxRate = maxRate;
    this.targetLagSeconds = targetLagSeconds;
    this.rate = maxRate;
  }

  /**
   * The measurements of one period.
   *
   * @param seconds length of the period
   * @param allFlows tuples per second if all flows were kept
   * @param taken tuples that the job read
   * @param lag tuples in the topic that the job has not read
   */
  record Measurement(double seconds, double allFlows, double taken, double lag) {}

  /** Returns the rate to apply from now on. */
  double next(Measurement seen) {
    double now = seen.taken() / seen.seconds();
    if (now == 0 && lately == 0) {
      return rate;
    }
    boolean isMuch = seen.lag() > (saturated ? targetLagSeconds / 2 : MUCH_SECONDS) * lately;
    if (isMuch && now > 0 && now < lately) {
      lately = Math.max(now, MIN_SHARE * lately);
    } else {
      lately = lately == 0 ? now : (1 - NEW_SHARE) * lately + NEW_SHARE * now;
    }
    double lagSeconds = seen.lag() / Math.max(1, lately);
    note(seen, lagSeconds);
    calm = saturated || lagSeconds > MUCH_SECONDS ? 0 : calm + 1;
    double wanted = wanted(Math.max(1, seen.allFlows()), lagSeconds);
    wanted = Math.max(wanted, MAX_DECREASE * rate);
    wanted = Math.min(maxRate, Math.max(minRate, wanted));
    boolean atBound = wanted == maxRate || wanted == minRate;
    if (atBound || Math.abs(wanted - rate) > MIN_CHANGE * rate) {
      rate = wanted;
    }
    return rate;
  }

  private void note(Measurement seen, double lagSeconds) {
    if (!saturated && lagSeconds <= SATURATED * targetLagSeconds) {
      possible = Math.max(possible, lately);
      return;
    }
    takenSince = saturated ? takenSince + seen.taken() : seen.taken();
    secondsSince = saturated ? secondsSince + seen.seconds() : seen.seconds();
    saturated = lagSeconds >= GONE * targetLagSeconds;
    possible = saturated ? possible : takenSince / secondsSince;
  }

  private double wanted(double allFlows, double lagSeconds) {
    if (!saturated) {
      double near = NEARLY * possible / allFlows;
      return rate < near ? Math.min(rate * MAX_INCREASE, near) : rate * up();
    }
    if (lagSeconds <= SATURATED * targetLagSeconds) {
      return rate;
    }
    double correction = 1 + (targetLagSeconds / 2 - lagSeconds) / HORIZON_SECONDS;
    double share = Math.max(MIN_SHARE, correction);
    return Math.min(rate * LAGGING_UP, share * lately / allFlows);
  }

  private double up() {
    return Math.min(MAX_INCREASE, 1 + CAREFUL_UP * Math.pow(2, calm / (double) BOLDER_AFTER));
  }

  double rate() {
    return rate;
  }

  double maxRate() {
    return maxRate;
  }
}
