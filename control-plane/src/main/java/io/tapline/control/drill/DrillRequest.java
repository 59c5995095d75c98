package io.tapline.control.drill;

import io.tapline.compiler.Scope;
import java.util.List;

/**
 * What to look for in the headers of the hosts.
 *
 * @param filter an expression of MultiLog; empty for all
 * @param fromNs least time, since the epoch
 * @param toNs greatest time; 0 for none
 * @param limit most rows, or packets of a capture file, in all; 0 for all
 * @param nodes names of those asked; empty for all
 * @param stored a filter that the nodes keep, to begin with; empty for none
 * @param scope of who asks: hosts outside it are as unknown as those that are not there
 */
public record DrillRequest(
    String filter,
    long fromNs,
    long toNs,
    long limit,
    List<String> nodes,
    String stored,
    Scope scope) {
  /**
   * Headers in JSON are collected, some 1.5 KB each, before they are shown in the order of time.
   */
  public static final long MOST_ROWS = 100_000;

  /** A node that is named twice is asked once: it would wait for itself. */
  public DrillRequest {
    nodes = nodes.stream().distinct().toList();
  }

  /** A request of a caller whose scope is everything. */
  public DrillRequest(
      String filter, long fromNs, long toNs, long limit, List<String> nodes, String stored) {
    this(filter, fromNs, toNs, limit, nodes, stored, Scope.EVERYTHING);
  }

  /** The same without a stored filter. */
  public DrillRequest(String filter, long fromNs, long toNs, long limit, List<String> nodes) {
    this(filter, fromNs, toNs, limit, nodes, "");
  }
}
