package io.tapline.control.replicas;

import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Decides how many servers are needed, and which pages all of them have (the Updater Bolt of
 * NetAlytics, Middleware'16, 7.3). Time is packet time. Not thread-safe.
 */
final class Updater {
  private final Thresholds thresholds;
  private final int maxServers;
  private long restUntilNs = Long.MIN_VALUE;

  /**
   * The wanted state.
   *
   * @param servers at least 1
   * @param hot pages that all servers have; none if there is only one server
   */
  record WantedState(int servers, Set<String> hot) {
    static final WantedState SINGLE = new WantedState(1, Set.of());
  }

  /**
   * Creates an updater.
   *
   * @param maxServers maximum number of servers
   */
  Updater(Thresholds thresholds, int maxServers) {
    this.thresholds = thresholds;
    this.maxServers = maxServers;
  }

  /** Returns the wanted state after a window, given the current one. */
  WantedState next(long windowEndNs, Map<String, Double> perSecond, WantedState now) {
    if (windowEndNs < restUntilNs) {
      return now;
    }
    double share =
        perSecond.values().stream().mapToDouble(Double::doubleValue).max().orElse(0)
            / now.servers();
    int servers = now.servers();
    if (share > thresholds.upperPerSecond() && servers < maxServers) {
      servers++;
    } else if (share < thresholds.lowerPerSecond() && servers > 1) {
      servers--;
    }
    if (servers != now.servers()) {
      restUntilNs = windowEndNs + thresholds.backOffNs();
    }
    return servers == 1 ? WantedState.SINGLE : new WantedState(servers, hot(perSecond, now.hot()));
  }

  /**
   * Returns the hot pages: a page becomes hot above the upper threshold and stays hot down to the
   * lower one.
   */
  private Set<String> hot(Map<String, Double> perSecond, Set<String> previousPages) {
    Set<String> hot = new TreeSet<>();
    perSecond.forEach(
        (url, rate) -> {
          boolean stays = previousPages.contains(url) && rate >= thresholds.lowerPerSecond();
          if (stays || rate > thresholds.upperPerSecond()) {
            hot.add(url);
          }
        });
    return hot;
  }
}
