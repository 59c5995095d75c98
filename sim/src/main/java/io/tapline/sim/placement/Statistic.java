package io.tapline.sim.placement;

/**
 * A mean over runs with its 95 % confidence interval (Student's t).
 *
 * @param halfWidth half the width of the interval, which is mean ± this; 0 for a single run
 */
public record Statistic(double mean, double halfWidth, int runs) {
  /**
   * Two-sided 95 % quantiles for 1, 2… degrees of freedom; beyond these, the normal quantile
   * applies.
   */
  private static final double[] T = {
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086
  };

  private static final double NORMAL = 1.960;

  /** Returns the statistic of one or more values. */
  public static Statistic of(double... values) {
    double sum = 0;
    for (double value : values) {
      sum += value;
    }
    double mean = sum / values.length;
    double squares = 0;
    for (double value : values) {
      squares += (value - mean) * (value - mean);
    }
    int freedom = values.length - 1;
    if (freedom == 0) {
      return new Statistic(mean, 0, 1);
    }
    double t = freedom <= T.length ? T[freedom - 1] : NORMAL;
    double error = Math.sqrt(squares / freedom / values.length);
    return new Statistic(mean, t * error, values.length);
  }
}
