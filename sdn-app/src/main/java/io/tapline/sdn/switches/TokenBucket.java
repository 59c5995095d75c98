package io.tapline.sdn.switches;

/** A rate limit per second, with bursts of up to one second's worth. Not thread-safe. */
public final class TokenBucket {
  private static final double NS_PER_SECOND = 1e9;

  private final double perSecond;
  private double tokens;
  private long lastNs;

  public TokenBucket(double perSecond, long nowNs) {
    this.perSecond = perSecond;
    this.tokens = perSecond;
    this.lastNs = nowNs;
  }

  public boolean take(long nowNs) {
    tokens = Math.min(perSecond, tokens + (nowNs - lastNs) / NS_PER_SECOND * perSecond);
    lastNs = nowNs;
    if (tokens < 1) {
      return false;
    }
    tokens--;
    return true;
  }
}
