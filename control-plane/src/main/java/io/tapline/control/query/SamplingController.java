package io.tapline.control.query;

/**
 * Chooses the sampling rate of a {@code SAMPLE auto} query from how its stream job keeps up
 * (NetAlytics §4.2): as many flows as can be processed with a lag near half of the target.
 *
 * <pre>
 *   some lag    the job takes all that it can: asked of it is that, more or less by how far the lag
 *               is from half of the target, but never less than a quarter of it: a lag that takes
 *               long to work off is no reason to be blind meanwhile
 *   no lag      up, half a time a period to nearly what it took on the whole while it had a lag
 *               last; beyond that nobody knows: a fiftieth a period, and more the longer it goes well
 * </pre>
 *
 * <p>A job that is held up by a broker's quota or a checkpoint takes nothing for a while and then
 * much: down it goes by what was taken lately, up again by what was taken in all. So a rate comes
 * back soon from where a short while had brought it, and slows down where the last rise went wrong.
 * Called once a period. Pure but for its memory; not thread-safe.
 */
final class SamplingController {
  private static final double MOST_UP = 1.5;

  /** One look may be wrong: of a job that is just beginning, on a host that stood still. */
  private static final double MOST_DOWN = 1.0 / 16;

  /** While there is a lag. */
  private static final double LAGGING_UP = 1.1;

  /** Beyond what is known to be possible, at first, and after how many looks twice as much. */
  private static final double CAREFUL_UP = 0.02;

  private static final int BOLDER_AFTER = 8;

  /** Of what the job took while it had a lag. */
  private static final double NEARLY = 0.8;

  private static final double LEAST_SHARE = 0.25;

  /** How much a period counts for what the job takes lately. */
  private static final double NEW_SHARE = 0.4;

  /**
   * A lag below this share of the target may be what is just on its way; it has gone below that.
   */
  private static final double SATURATED = 0.25;

  private static final double GONE = 0.1;

  /**
   * More than so many seconds of what the job took are not just on their way: what it takes now is
   * what it can take. Waiting for a mean to say so would let seconds of the full load into the
   * topic, which the job then works off for many times as long.
   */
  private static final double MUCH_SECONDS = 1.25;

  /** Seconds in which a difference from the wanted lag is to be gone. */
  private static final double HORIZON_SECONDS = 8;

  /** A change smaller than this is not worth a batch cut short. */
  private static final double LEAST_CHANGE = 0.015;

  private final double leastRate;
  private final double mostRate;
  private final double targetLagSeconds;
  private double rate;

  /** Tuples per second that the job took lately. */
  private double lately;

  /** And that it is known to take; 0 before anything is known. */
  private double possible;

  /** Since there is a lag. */
  private boolean saturated;

  /** Looks in a row without a lag worth a word. */
  private int calm;

  private double takenSince;
  private double secondsSince;

  /**
   * @param mostRate what the query allows
   * @param targetLagSeconds lag that is tolerated
   */
  SamplingController(double leastRate, double mostRate, double targetLagSeconds) {
    this.leastRate = leastRate;
    this.mostRate = mostRate;
    this.targetLagSeconds = targetLagSeconds;
    this.rate = mostRate;
  }

  /**
   * What was seen in one period.
   *
   * @param seconds its length
   * @param allFlows tuples per second that all flows would come to
   * @param taken tuples that the job took
   * @param lag tuples in the topic that it has not taken
   */
  record Seen(double seconds, double allFlows, double taken, double lag) {}

  /** The rate from now on. */
  double next(Seen seen) {
    double now = seen.taken() / seen.seconds();
    if (now == 0 && lately == 0) {
      return rate;
    }
    boolean much = seen.lag() > (saturated ? targetLagSeconds / 2 : MUCH_SECONDS) * lately;
    if (much && now > 0 && now < lately) {
      lately = Math.max(now, LEAST_SHARE * lately);
    } else {
      lately = lately == 0 ? now : (1 - NEW_SHARE) * lately + NEW_SHARE * now;
    }
    double lagSeconds = seen.lag() / Math.max(1, lately);
    note(seen, lagSeconds);
    calm = saturated || lagSeconds > MUCH_SECONDS ? 0 : calm + 1;
    double wanted = wanted(Math.max(1, seen.allFlows()), lagSeconds);
    wanted = Math.max(wanted, MOST_DOWN * rate);
    wanted = Math.min(mostRate, Math.max(leastRate, wanted));
    boolean atBound = wanted == mostRate || wanted == leastRate;
    if (atBound || Math.abs(wanted - rate) > LEAST_CHANGE * rate) {
      rate = wanted;
    }
    return rate;
  }

  private void note(Seen seen, double lagSeconds) {
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
      return rate < near ? Math.min(rate * MOST_UP, near) : rate * up();
    }
    if (lagSeconds <= SATURATED * targetLagSeconds) {
      return rate;
    }
    double correction = 1 + (targetLagSeconds / 2 - lagSeconds) / HORIZON_SECONDS;
    double share = Math.max(LEAST_SHARE, correction);
    return Math.min(rate * LAGGING_UP, share * lately / allFlows);
  }

  private double up() {
    return Math.min(MOST_UP, 1 + CAREFUL_UP * Math.pow(2, calm / (double) BOLDER_AFTER));
  }

  double rate() {
    return rate;
  }

  double mostRate() {
    return mostRate;
  }
}
