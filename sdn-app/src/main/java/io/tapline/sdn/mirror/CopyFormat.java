package io.tapline.sdn.mirror;

import java.util.Map;

/**
 * The format in which switches copy all of their traffic.
 *
 * @param isMarked true if copies are marked with their packets' ports; false if monitors infer the
 *     ports from routes
 * @param separateQueues for each monitor's host, the number of switches whose mirror port has a
 *     second queue, for segments that open or end TCP connections
 */
public record CopyFormat(boolean isMarked, Map<String, Integer> separateQueues) {
  public CopyFormat {
    separateQueues = Map.copyOf(separateQueues);
  }
}
