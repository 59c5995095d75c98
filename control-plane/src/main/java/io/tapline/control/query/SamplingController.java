package io.tapline.control.query;

/**
 * Chooses the sampling rate of a {@code SAMPLE auto} query from how its stream job keeps up
 * (NetAlytics §4.2): as many flows as can be processed with a lag near half of the target.
 *
 * <pre>
 *   no lag      what the job can take is not known: up, a tenth a period
 *   some lag    it takes all that it can: asked of it is that, more or less by how far the lag is
 *               from half of the target, but never less than a quarter of it: a lag that takes long
 *               to work off is no reason to be blind meanwhile
 * </pre>
 *
 * <p>Small corrections in proportion, over more periods than a new rate takes to be felt, do not
 * oscillate. Called once a period. Pure but for its memory; not thread-safe.
 */
final class SamplingController {
  private static final double MOST_UP = 1.1;
  private static final double LEAST_SHARE = 0.25;

  /** How much a period counts for what all flows would come to. */
  private static final double NEW_SHARE = 0.3;

  /** A lag below this share of the target may be what is just on its way. */
  private static final double SATURATED = 0.25;

  /** Seconds in which a difference from the wanted lag is to be gone. */
  private static final double HORIZON_SECONDS = 8;

  /** A change smaller than this is not worth a batch cut short. */
  private static final double LEAST_CHANGE = 0.03;

  private final double leastRate;
  private final double mostRate;
  private final double targetLagSeconds;
  private double rate;
  private double rateBefore;
  private double rateBeforeThat;
  private double allFlows;

  /**
   * @param mostRate what the query allows
   * @param targetLagSeconds lag that is tolerated
   */
  SamplingController(double leastRate, double mostRate, double targetLagSeconds) {
    this.leastRate = leastRate;
    this.mostRate = mostRate;
    this.targetLagSeconds = targetLagSeconds;
    this.rate = mostRate;
    this.rateBefore = mostRate;
    this.rateBeforeThat = mostRate;
  }

  /**
   * What was seen in one period.
   *
   * @param offered tuples per second that came into the topic, at the rate in force
   * @param consumed tuples per second that the job took
   * @param lag tuples in the topic that it has not taken
   */
  record Seen(double offered, double consumed, double lag) {}

  /** The rate from now on. */
  double next(Seen seen) {
    double lagSeconds = seen.lag() / Math.max(1, seen.consumed());
    noteOffered(seen.offered());
    double wanted = rate * MOST_UP;
    if (lagSeconds > SATURATED * targetLagSeconds) {
      double correction = 1 + (targetLagSeconds / 2 - lagSeconds) / HORIZON_SECONDS;
      wanted = seen.consumed() * Math.max(LEAST_SHARE, correction) / Math.max(1, allFlows);
      wanted = Math.min(rate * MOST_UP, wanted);
    }
    wanted = Math.min(mostRate, Math.max(leastRate, wanted));
    boolean atBound = wanted == mostRate || wanted == leastRate;
    if (atBound || Math.abs(wanted - rate) > LEAST_CHANGE * rate) {
      rate = wanted;
    }
    return rate;
  }

  /** A rate takes one or two periods to come into force. */
  private void noteOffered(double offered) {
    double all = 2 * offered / (rateBefore + rateBeforeThat);
    allFlows = allFlows == 0 ? all : (1 - NEW_SHARE) * allFlows + NEW_SHARE * all;
    rateBeforeThat = rateBefore;
    rateBefore = rate;
  }

  double rate() {
    return rate;
  }

  double mostRate() {
    return mostRate;
  }
}
