package io.tapline.flink.group;

/**
 * Quantiles of Student's t-distribution, for the error bounds of estimates from replicate groups of
 * flows (see {@link GroupTable}).
 */
public final class Student {
  /** Degrees of freedom; must be odd for {@link #distribution}. */
  private static final int FREEDOM = GroupTable.REPLICATES - 1;

  private static final double CONFIDENCE = 0.95;
  private static final int HALVINGS = 60;
  private static final double MAX_QUANTILE = 1000;

  private Student() {}

  /**
   * Returns the half-width of two-sided bounds, in standard errors, such that the bounds of this
   * many estimates are all correct with 95 % confidence, even if the estimates are dependent
   * (Bonferroni).
   */
  public static double quantile(int estimates) {
    double tail = (1 - CONFIDENCE) / 2 / estimates;
    double low = 0;
    double high = MAX_QUANTILE;
    for (int i = 0; i < HALVINGS; i++) {
      double middle = (low + high) / 2;
      if (1 - distribution(middle) > tail) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return high;
  }

  /**
   * Computes the cumulative distribution function for odd degrees of freedom (Abramowitz and
   * Stegun, 26.7.3).
   */
  private static double distribution(double t) {
    double angle = Math.atan(t / Math.sqrt(FREEDOM));
    double cosine = Math.cos(angle);
    double term = cosine;
    double sum = cosine;
    for (int power = 3; power < FREEDOM; power += 2) {
      term *= cosine * cosine * (power - 1) / power;
      sum += term;
    }
    return 0.5 + (angle + Math.sin(angle) * sum) / Math.PI;
  }
}
