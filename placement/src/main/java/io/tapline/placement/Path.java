package io.tapline.placement;

/**
 * What lies between two points: the links by level, and the sum of their weights.
 *
 * @param weight of all links together
 */
public record Path(int hostLinks, int aggregationLinks, int coreLinks, int weight) {
  /** From a place to itself. */
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

  /** This path and one more link. */
  Path plus(LinkLevel level, int linkWeight) {
    return new Path(
        hostLinks + (level == LinkLevel.HOST ? 1 : 0),
        aggregationLinks + (level == LinkLevel.AGGREGATION ? 1 : 0),
        coreLinks + (level == LinkLevel.CORE ? 1 : 0),
        weight + linkWeight);
  }
}
