package io.tapline.sdn.topology;

import java.util.HashMap;
import java.util.Map;

/**
 * Counts entries per port and per switch against a limit, so that an attacker who invents many
 * entries only exhausts the limit of that port or switch. Not thread-safe.
 */
final class Places {
  private final int maxPerPort;
  private final int maxPerSwitch;
  private final Map<SwitchPort, Integer> atPort = new HashMap<>();
  private final Map<Long, Integer> atSwitch = new HashMap<>();

  Places(int maxPerPort, int maxPerSwitch) {
    this.maxPerPort = maxPerPort;
    this.maxPerSwitch = maxPerSwitch;
  }

  boolean hasRoom(SwitchPort port) {
    return atPort.getOrDefault(port, 0) < maxPerPort
        && atSwitch.getOrDefault(port.datapath(), 0) < maxPerSwitch;
  }

  boolean isTaken(SwitchPort port) {
    return atPort.containsKey(port);
  }

  void add(SwitchPort port) {
    atPort.merge(port, 1, Integer::sum);
    atSwitch.merge(port.datapath(), 1, Integer::sum);
  }

  /** Removes an entry. REQUIRES: an entry was added at this port. */
  void remove(SwitchPort port) {
    atPort.computeIfPresent(port, (key, count) -> count == 1 ? null : count - 1);
    atSwitch.computeIfPresent(port.datapath(), (key, count) -> count == 1 ? null : count - 1);
  }
}
