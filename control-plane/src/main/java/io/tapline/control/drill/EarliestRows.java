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
 * Collects the earliest of the rows that nodes send, up to a limit: it keeps no more rows than are
 * shown, and converts only those to JSON. Rows of several nodes may arrive concurrently, on several
 * threads.
 */
final class EarliestRows {
  /**
   * A row as it arrived.
   *
   * @param rank order of rows with the same time: by the node's position among the nodes, then by
   *     the row's among the node's rows
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

  /** Returns the receiver of the next node's rows. */
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

  /** Returns true if there were more rows than the limit. */
  synchronized boolean more() {
    return more;
  }

  /** Returns the rows in time order, each with a member "node". */
  synchronized List<ObjectNode> rows() {
    return latestFirst.stream().sorted(Row.ORDER).map(row -> row.from.json(row.bytes)).toList();
  }

  /** Returns the nodes with rows that could not be read, and why. */
  synchronized Map<String, String> unreadable() {
    Map<String, String> unreadable = new LinkedHashMap<>();
    for (OfNode node : nodes) {
      if (node.unreadable > 0) {
        unreadable.put(node.name, node.unreadable + " segments on its disk can't be read");
      }
    }
    return unreadable;
  }

  /** Receives one node's rows, in batches that arrive one after another. */
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
      for (int offset = 0; offset + width <= rows.size(); offset += width) {
        long timeNs = layout.timeNs(bytes, offset);
        EarliestRows.this.add(
            new Row(timeNs, next++, this, rows.substring(offset, offset + width)));
      }
      unreadable += batch.getUnreadableSegments();
    }

    private ObjectNode json(ByteString row) {
      return layout.json(row.asReadOnlyByteBuffer().slice(), 0).put("node", name);
    }
  }
}
