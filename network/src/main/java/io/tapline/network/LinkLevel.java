package io.tapline.network;

/** The level of a link in the tree, with its weight as in section 6.2 of the NetAlytics paper. */
public enum LinkLevel {
  /** Between a host and its edge switch. */
  HOST(1),
  /** Between an edge switch and the switch above it. */
  AGGREGATION(2),
  /** Between other switches. */
  CORE(4);

  /** Cost of one bit on a link of this level, unless the link has its own weight. */
  public final int weight;

  LinkLevel(int weight) {
    this.weight = weight;
  }
}
