package io.tapline.control.rest.http;

import java.util.HashMap;
import java.util.Map;

/**
 * Rate limits of tenants: a number of requests per second, and bursts of the same size.
 * Thread-safe.
 */
public final class RateLimits {
  private static final double NS_PER_SECOND = 1e9;

  /** The remaining allowance of a tenant at one time. */
  private record Allowance(double requests, long atNs) {}

  private final Map<String, Allowance> tenants = new HashMap<>();

  /**
   * Takes a request from a tenant's allowance.
   *
   * @return 0 if the allowance sufficed; otherwise the whole seconds until it will
   */
  public synchronized int take(String tenant, int perSecond, long nowNs) {
    if (perSecond == Integer.MAX_VALUE) {
      return 0;
    }
    Allowance last = tenants.getOrDefault(tenant, new Allowance(perSecond, nowNs));
    double saved = last.requests() + (nowNs - last.atNs()) / NS_PER_SECOND * perSecond;
    double left = Math.min(perSecond, saved);
    boolean has = left >= 1;
    tenants.put(tenant, new Allowance(has ? left - 1 : left, nowNs));
    return has ? 0 : (int) Math.ceil((1 - left) / perSecond);
  }
}
