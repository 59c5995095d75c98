package io.tapline.sdn.switches;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLongArray;

/** The controller's counters. Thread-safe. */
public final class Counters {
  private final AtomicLongArray values = new AtomicLongArray(Counter.values().length);

  public void add(Counter counter) {
    add(counter, 1);
  }

  public void add(Counter counter, long number) {
    values.addAndGet(counter.ordinal(), number);
  }

  public long get(Counter counter) {
    return values.get(counter.ordinal());
  }

  /** Returns all counters by name. */
  public Map<String, Long> all() {
    Map<String, Long> all = new TreeMap<>();
    for (Counter counter : Counter.values()) {
      all.put(counter.text(), get(counter));
    }
    return all;
  }
}
