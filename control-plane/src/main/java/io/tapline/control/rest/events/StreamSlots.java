package io.tapline.control.rest.events;

import java.util.HashMap;
import java.util.Map;

/** Counts open event streams, in total and per tenant. Thread-safe. */
final class StreamSlots {
  private final int maxStreams;
  private final Map<String, Integer> open = new HashMap<>();
  private int total;

  /**
   * Creates the slots of a server.
   *
   * @param maxStreams maximum number for all tenants together
   */
  StreamSlots(int maxStreams) {
    this.maxStreams = maxStreams;
  }

  /**
   * Takes a slot, which {@link #free} returns. Returns a user-facing reason if none is free; empty
   * on success.
   */
  synchronized String take(String tenant, int maxOfTenant) {
    int own = open.getOrDefault(tenant, 0);
    if (own >= maxOfTenant) {
      return "%s has %d open event streams, its maximum: close one, or try again later"
          .formatted(tenant, own);
    }
    if (total >= maxStreams) {
      return maxStreams
          + " event streams are open, the maximum of this server: close one, or try again later";
    }
    open.put(tenant, own + 1);
    total++;
    return "";
  }

  synchronized void free(String tenant) {
    open.computeIfPresent(tenant, (name, own) -> own == 1 ? null : own - 1);
    total--;
  }

  synchronized int open() {
    return total;
  }
}
