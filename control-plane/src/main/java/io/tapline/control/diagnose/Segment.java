package io.tapline.control.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/**
 * A TCP segment with data, as its receiver saw it.
 *
 * @param path switches in order; empty without telemetry
 * @param latencyNs time in each switch
 * @param leftNs time at which the segment left each switch
 */
record Segment(
    FlowKey flow,
    long timeNs,
    long seq,
    long bytes,
    int tos,
    List<Integer> path,
    List<Long> latencyNs,
    List<Long> leftNs) {

  static Segment of(JsonNode row) {
    List<Integer> path = new ArrayList<>();
    row.path("path").forEach(hop -> path.add(hop.asInt()));
    return new Segment(
        FlowKey.of(row),
        row.path("time_ns").asLong(),
        row.path("seq").asLong(),
        row.path("payload_bytes").asLong(),
        row.path("tos").asInt(),
        path,
        longs(row.path("hop_latency_ns"), path.size()),
        longs(row.path("hop_ns"), path.size()));
  }

  /** Restores the zeros that nodes omit after a list's last nonzero number. */
  private static List<Long> longs(JsonNode list, int size) {
    List<Long> longs = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      longs.add(list.path(i).asLong());
    }
    return longs;
  }

  /**
   * Returns the time from leaving a switch to entering the next, which is the time to send one
   * packet; 0 for the last switch.
   */
  long linkNs(int hop) {
    return hop + 1 < path.size()
        ? Math.max(0, leftNs.get(hop + 1) - latencyNs.get(hop + 1) - leftNs.get(hop))
        : 0;
  }

  /** Returns the IP precedence: the first three bits. */
  static int priority(int tos) {
    return tos >> 5;
  }
}
