package io.tapline.control.drill;

import io.tapline.compiler.access.Scope;
import java.util.List;

/**
 * A query over the hosts' headers.
 *
 * @param filter selects headers
 * @param fromNs earliest time, since the epoch
 * @param toNs latest time; 0 for none
 * @param limit maximum number of rows, groups, or packets in a capture file, in total; 0 for {@link
 *     #MAX_ROWS} rows, and for all groups and packets
 * @param nodes names of the nodes to ask; empty for all
 * @param stored name of a filter that the nodes store, which {@code filter} narrows; empty for none
 */
public record DrillRequest(
    HeaderFilter filter, long fromNs, long toNs, long limit, List<String> nodes, String stored) {
  /**
   * Maximum number of rows, which limits memory: a header takes about 1.5 KB as JSON, and all are
   * collected to be sorted.
   */
  public static final long MAX_ROWS = 100_000;

  /** Removes duplicate names: a node that is asked twice would wait for itself. */
  public DrillRequest {
    nodes = nodes.stream().distinct().toList();
  }

  /** Returns the scope of the caller: hosts outside it are treated as nonexistent. */
  Scope scope() {
    return filter.scope();
  }

  /** Creates a request for an unrestricted caller. */
  public DrillRequest(
      String filter, long fromNs, long toNs, long limit, List<String> nodes, String stored) {
    this(HeaderFilter.ofText(filter), fromNs, toNs, limit, nodes, stored);
  }

  /** Creates a request without a stored filter. */
  public DrillRequest(String filter, long fromNs, long toNs, long limit, List<String> nodes) {
    this(filter, fromNs, toNs, limit, nodes, "");
  }
}
