package io.tapline.control.drill;

import java.util.List;

/** A coordinator that takes snapshots of a node in a separate process until it is killed. */
final class SnapshotLoop {
  private SnapshotLoop() {}

  public static void main(String[] arguments) throws Exception {
    try (DrillService drill = new DrillService(List.of(NodeAddress.parse(arguments[0])))) {
      DrillRequest nothing = new DrillRequest("bytes == 0", 0, 0, 1, List.of());
      drill.snapshotOf(nothing);
      System.out.println("running");
      while (true) {
        drill.snapshotOf(nothing);
      }
    }
  }
}
