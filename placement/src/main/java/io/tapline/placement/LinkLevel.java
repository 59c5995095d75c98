package io.tapline.placement;

/** Which part of the tree a link belongs to, with the weight that the paper gives it (6.2). */
public enum LinkLevel {
  /** Between a host and its edge switch. */
  HOST(1),
  /** Between an edge switch and the switch above it. */
  AGGREGATION(2),
  /** Above that. */
  CORE(4);

  /** What one bit costs on such a link unless the link says otherwise. */
  public final int weight;

  LinkLevel(int weight) {
    this.weight = weight;
  }
}
