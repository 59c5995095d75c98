package io.tapline.control.rest.events;

import java.util.HashMap;
import java.util.Map;

/** Counts open event streams, in total and per tenant. Thread-safe. */
final class StreamSlots {
  private final int most;
  private final Map<String, Integer> open = new HashMap<>();
  private int all;

  /**
   * Creates the slots of a server.
   *
   * @param most maximum number for all tenants together
   */
  StreamSlots(int most) {
    this.most = most;
  }

  /**
   * Takes a slot, which {@link #free} returns. Returns the reason for users if there is none; empty
   * on success.
   */
  synchronized String take(String tenant, int mostOfTenant) {
    int own = open.getOrDefault(tenant, 0);
    if (own >= mostOfTenant) {
      return "%d event streams of %s are open, as many as it may have at once: close one or ask again"
          .formatted(own, tenant);
    }
    if (all >= most) {
      return most
          + " event streams are open, which is as many as this server serves: close one or ask again";
    }
    open.put(tenant, own + 1);
    all++;
    return "";
  }

  synchronized void free(String tenant) {
    open.computeIfPresent(tenant, (name, own) -> own == 1 ? null : own - 1);
    all--;
  }

  synchronized int open() {
    return all;
  }
}
