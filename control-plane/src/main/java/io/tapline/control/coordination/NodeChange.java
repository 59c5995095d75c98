package io.tapline.control.coordination;

import java.util.ArrayList;
import java.util.List;

/**
 * A change to a ZooKeeper node.
 *
 * @param bytes the node's new data; empty if the node is deleted
 */
record NodeChange(Kind kind, String path, byte[] bytes) {
  /**
   * Maximum bytes of a transaction, below ZooKeeper's limit of slightly more than a million per
   * request.
   */
  private static final int MAX_BYTES = 500_000;

  /** Bytes of a change in a request, in addition to its path and data. */
  private static final int OVERHEAD = 100;

  enum Kind {
    CREATED,
    REPLACED,
    DELETED
  }

  static NodeChange created(String path, byte[] bytes) {
    return new NodeChange(Kind.CREATED, path, bytes);
  }

  static NodeChange replaced(String path, byte[] bytes) {
    return new NodeChange(Kind.REPLACED, path, bytes);
  }

  static NodeChange deleted(String path) {
    return new NodeChange(Kind.DELETED, path, new byte[0]);
  }

  /** Divides changes into transactions, in order. */
  static List<List<NodeChange>> transactions(List<NodeChange> changes) {
    List<List<NodeChange>> transactions = new ArrayList<>();
    int size = MAX_BYTES;
    for (NodeChange change : changes) {
      int added = OVERHEAD + change.path().length() + change.bytes().length;
      if (size + added > MAX_BYTES) {
        transactions.add(new ArrayList<>());
        size = 0;
      }
      transactions.get(transactions.size() - 1).add(change);
      size += added;
    }
    return transactions;
  }
}
