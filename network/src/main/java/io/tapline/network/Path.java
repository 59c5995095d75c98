package io.tapline.network;

/**
 * A path between two hosts or switches: its number of links on each level, and its weight.
 *
 * @param weight sum of the links' weights
 */
public record Path(int hostLinks, int aggregationLinks, int coreLinks, int weight) {
  /** The path from a host or switch to itself. */
  public static final Path NONE = new Path(0, 0, 0, 0);

  public int hops() {
    return hostLinks + aggregationLinks + coreLinks;
  }

  public int links(LinkLevel level) {
    return switch (level) {
      case HOST -> hostLinks;
      case AGGREGATION -> aggregationLinks;
      case CORE -> coreLinks;
    };
  }

  /** Returns this path with one more link. */
  Path plus(LinkLevel level, int linkWeight) {
    return new Path(
        hostLinks + (level == LinkLevel.HOST ? 1 : 0),
        aggregationLinks + (level == LinkLevel.AGGREGATION ? 1 : 0),
        coreLinks + (level == LinkLevel.CORE ? 1 : 0),
        weight + linkWeight);
  }
}
