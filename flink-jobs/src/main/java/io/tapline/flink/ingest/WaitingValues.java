package io.tapline.flink.ingest;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.PriorityQueue;

/**
 * Values sorted by time. Nearly all arrive in this order, since a monitor's lane is ordered; only
 * the others need sorting. Not thread-safe.
 */
final class WaitingValues {
  private final ArrayDeque<Waiting> inOrder = new ArrayDeque<>();
  private final PriorityQueue<Waiting> others = new PriorityQueue<>();

  void add(Waiting value) {
    if (inOrder.isEmpty() || value.timeNs() >= inOrder.peekLast().timeNs()) {
      inOrder.addLast(value);
    } else {
      others.add(value);
    }
  }

  /**
   * Removes and returns the earliest value if it is before {@code timeNs}; returns null otherwise.
   */
  Waiting pollBefore(long timeNs) {
    Waiting first = inOrder.peekFirst();
    Waiting otherWaiting = others.peek();
    if (otherWaiting != null && (first == null || otherWaiting.timeNs() < first.timeNs())) {
      return otherWaiting.timeNs() < timeNs ? others.poll() : null;
    }
    return first != null && first.timeNs() < timeNs ? inOrder.pollFirst() : null;
  }

  int size() {
    return inOrder.size() + others.size();
  }

  void write(DataOutput out) throws IOException {
    out.writeInt(size());
    for (Waiting value : inOrder) {
      value.write(out);
    }
    for (Waiting value : others) {
      value.write(out);
    }
  }

  /** Adds the values that {@link #write} wrote. */
  void read(DataInput in) throws IOException {
    for (int i = in.readInt(); i > 0; i--) {
      add(Waiting.read(in));
    }
  }
}
