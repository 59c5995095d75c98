package io.tapline.placement;

import java.util.Arrays;

/**
 * Flows between hosts with their rates, stored in columns: ten million flows take 160 MB. Immutable
 * once built.
 */
public final class Flows {
  private final int[] from;
  private final int[] to;
  private final long[] rateBps;

  private Flows(int[] from, int[] to, long[] rateBps) {
    this.from = from;
    this.to = to;
    this.rateBps = rateBps;
  }

  public int size() {
    return from.length;
  }

  /** Returns a flow's first host. */
  public int from(int flow) {
    return from[flow];
  }

  /** Returns a flow's second host, which may equal the first. */
  public int to(int flow) {
    return to[flow];
  }

  /** Returns the total rate of both directions, in bits per second. */
  public long rateBps(int flow) {
    return rateBps[flow];
  }

  public long totalBps() {
    long total = 0;
    for (long rate : rateBps) {
      total += rate;
    }
    return total;
  }

  /** Returns the selected flows, renumbered in the given order. */
  public Flows select(int[] flows) {
    Builder selected = new Builder(flows.length);
    for (int flow : flows) {
      selected.add(from[flow], to[flow], rateBps[flow]);
    }
    return selected.build();
  }

  /** Collects flows. Not thread-safe. */
  public static final class Builder {
    private int[] from;
    private int[] to;
    private long[] rateBps;
    private int size;

    public Builder(int expected) {
      from = new int[Math.max(4, expected)];
      to = new int[from.length];
      rateBps = new long[from.length];
    }

    /** Adds a flow between two hosts. */
    public Builder add(int fromHost, int toHost, long bitsPerSecond) {
      if (bitsPerSecond < 0) {
        throw new IllegalArgumentException("negative rate");
      }
      if (size == from.length) {
        int larger = (int) Math.min(Integer.MAX_VALUE - 8, size * 2L);
        from = Arrays.copyOf(from, larger);
        to = Arrays.copyOf(to, larger);
        rateBps = Arrays.copyOf(rateBps, larger);
      }
      from[size] = fromHost;
      to[size] = toHost;
      rateBps[size++] = bitsPerSecond;
      return this;
    }

    /** Returns the flows. The builder must not be used afterwards. */
    public Flows build() {
      boolean full = size == from.length;
      return full
          ? new Flows(from, to, rateBps)
          : new Flows(
              Arrays.copyOf(from, size), Arrays.copyOf(to, size), Arrays.copyOf(rateBps, size));
    }
  }
}
