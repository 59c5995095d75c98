package io.tapline.control.drill;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.ByteString;
import io.tapline.schema.rpc.RowBatch;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * The earliest of the rows that nodes send, at most so many: no more are held than are shown, and
 * only those are made JSON. Rows of several nodes may come at once, on several threads.
 */
final class EarliestRows {
  /**
   * A row as it came.
   *
   * @param rank the node's place, then the row's: hosts that saw a packet at the same time are
   *     shown in the order in which the server was given them
   */
  private record Row(long timeNs, long rank, OfNode from, ByteString bytes) {
    static final Comparator<Row> ORDER =
        Comparator.comparingLong(Row::timeNs).thenComparingLong(Row::rank);
  }

  private static final int NODE_BITS = 40;

  private final PriorityQueue<Row> latestFirst = new PriorityQueue<>(Row.ORDER.reversed());
  private final List<OfNode> nodes = new ArrayList<>();
  private final long limit;
  private boolean more;

  EarliestRows(long limit) {
    this.limit = limit;
  }

  long limit() {
    return limit;
  }

  /** Where the next node's rows go. */
  synchronized OfNode of(String node, RowLayout layout) {
    OfNode rows = new OfNode(node, layout, (long) nodes.size() << NODE_BITS);
    nodes.add(rows);
    return rows;
  }

  private synchronized void add(Row row) {
    if (latestFirst.size() == limit) {
      more = true;
      if (Row.ORDER.compare(row, latestFirst.peek()) > 0) {
        return;
      }
      latestFirst.poll();
    }
    latestFirst.add(row);
  }

  /** Whether there were more than the limit. */
  synchronized boolean more() {
    return more;
  }

  /** In the order of time, each with "node". */
  synchronized List<ObjectNode> rows() {
    return latestFirst.stream().sorted(Row.ORDER).map(row -> row.from.json(row.bytes)).toList();
  }

  /** Nodes that could not read all of their rows. */
  synchronized Map<String, String> unreadable() {
    Map<String, String> unreadable = new LinkedHashMap<>();
    for (OfNode node : nodes) {
      if (node.unreadable > 0) {
        unreadable.put(node.name, node.unreadable + " segments on its disk can't be read");
      }
    }
    return unreadable;
  }

  /** Rows of one node, as its batches come, one after the other. */
  final class OfNode {
    private final String name;
    private final RowLayout layout;
    private long next;
    private volatile long unreadable;

    private OfNode(String name, RowLayout layout, long first) {
      this.name = name;
      this.layout = layout;
      this.next = first;
    }

    void add(RowBatch batch) {
      ByteString rows = batch.getRows();
      ByteBuffer bytes = rows.asReadOnlyByteBuffer().slice();
      int width = layout.rowBytes();
      for (int at = 0; at + width <= rows.size(); at += width) {
        long timeNs = layout.timeNs(bytes, at);
        EarliestRows.this.add(new Row(timeNs, next++, this, rows.substring(at, at + width)));
      }
      unreadable += batch.getUnreadableSegments();
    }

    private ObjectNode json(ByteString row) {
      return layout.json(row.asReadOnlyByteBuffer().slice(), 0).put("node", name);
    }
  }
}
