package io.tapline.control.cli.options;

import io.tapline.control.cli.console.UsageException;
import io.tapline.control.embedded.EmbeddedOptions;
import picocli.CommandLine.Option;

/** Options that limit a server's load. */
public final class CapacityOptions {
  private static final int DEFAULT_MAX_QUERIES = 100;

  /** Maximum heap use of a small query, including what Kafka and Flink keep for it. */
  private static final long HEAP_PER_QUERY = 6L << 20;

  /** Heap use of a server without queries. */
  private static final long OWN_HEAP = 256L << 20;

  @Option(
      names = "--most-queries",
      paramLabel = "N",
      description =
          "Max queries at the same time; more are rejected. Default: one for each 6 MiB of the heap beyond 256 MiB, at least 12 and at most 100; 12 with --pcap, where each has a separate monitor.")
  private Integer maxQueries;

  /** Throws a usage error if the option is out of range; called before anything is started. */
  public void check() {
    long heap = Runtime.getRuntime().maxMemory();
    if (maxQueries != null && (maxQueries < 1 || maxQueries > maxQueriesFor(heap))) {
      throw new UsageException(
          "--most-queries %d: use 1 to %d; more queries need a heap larger than %d MiB, for example TAPLINE_JAVA_OPTS=-Xmx4g"
              .formatted(maxQueries, maxQueriesFor(heap), heap >> 20));
    }
  }

  /**
   * Returns the maximum number of concurrent queries.
   *
   * @param files true if queries read files, each with a separate monitor
   */
  public int maxQueries(boolean files) {
    if (maxQueries != null) {
      return maxQueries;
    }
    int few = EmbeddedOptions.FEW_QUERIES;
    return files ? few : usual(Runtime.getRuntime().maxMemory());
  }

  /** Returns the default maximum for a heap of this size. */
  static int usual(long heapBytes) {
    long carried = (heapBytes - OWN_HEAP) / HEAP_PER_QUERY;
    return (int) Math.min(DEFAULT_MAX_QUERIES, Math.max(EmbeddedOptions.FEW_QUERIES, carried));
  }

  /**
   * Returns the maximum that may be configured for a heap of this size. It suits only tiny queries;
   * even these need Flink's network memory, which must not exceed the heap.
   */
  static int maxQueriesFor(long heapBytes) {
    return (int) Math.max(EmbeddedOptions.FEW_QUERIES, heapBytes / (2 * HEAP_PER_QUERY / 3));
  }
}
