package io.tapline.control.query;

import io.tapline.compiler.packets.TriggerCost;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.PacketTrigger;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Refuses triggers on packets if a monitor would not have enough CPU time for those of all its
 * queries together. The costs depend on the traffic that the inventory states; without it, nothing
 * is refused. Thread-safe.
 */
final class TriggerAdmission {
  /** The triggers of a query, and the hosts of its monitors. */
  private record Load(Set<String> hosts, List<PacketTrigger> triggers) {}

  private static final String PROCESS = "PROCESS";
  private static final String EXPECTED =
      "at most %.0f %% of a core for all queries: longer windows, coarser groups, fewer triggers, or another query stopped"
          .formatted(TriggerCost.MAX_BUSY * 100);

  private final Optional<TriggerCost.Traffic> traffic;
  private final Map<String, Load> loads = new TreeMap<>();

  TriggerAdmission(Optional<TriggerCost.Traffic> traffic) {
    this.traffic = traffic;
  }

  /**
   * Sets the triggers of a query.
   *
   * @return the reason why they are refused, in which case those of before remain; empty if they
   *     are not
   */
  synchronized String put(String query, Set<String> hosts, List<PacketTrigger> triggers) {
    Load load = new Load(Set.copyOf(hosts), List.copyOf(triggers));
    for (String host : hosts) {
      String refusal = triggers.isEmpty() ? "" : refusal(host, query, load);
      if (!refusal.isEmpty()) {
        return refusal;
      }
    }
    restore(query, hosts, triggers);
    return "";
  }

  /** Sets the triggers of a query that an earlier control plane admitted. */
  synchronized void restore(String query, Set<String> hosts, List<PacketTrigger> triggers) {
    if (triggers.isEmpty() || traffic.isEmpty()) {
      loads.remove(query);
    } else {
      loads.put(query, new Load(Set.copyOf(hosts), List.copyOf(triggers)));
    }
  }

  synchronized void remove(String query) {
    loads.remove(query);
  }

  private String refusal(String host, String query, Load load) {
    if (traffic.isEmpty()) {
      return "";
    }
    List<TriggerCost> others = new ArrayList<>();
    loads.forEach(
        (id, other) -> {
          if (!id.equals(query) && other.hosts().contains(host)) {
            others.add(new TriggerCost(other.triggers()));
          }
        });
    TriggerCost own = new TriggerCost(load.triggers());
    double before = TriggerCost.together(others, traffic.get());
    List<TriggerCost> all = new ArrayList<>(others);
    all.add(own);
    double busy = TriggerCost.together(all, traffic.get());
    if (busy <= TriggerCost.MAX_BUSY || shrinks(query, own)) {
      return "";
    }
    return "the monitor on %s has no time for these triggers: %s. Triggers of other queries take %.0f %% there, and all together would take %.0f %%"
        .formatted(host, own.at(traffic.get()), before * 100, busy * 100);
  }

  /** Returns true if the query's triggers do not cost more than those that it has. */
  private boolean shrinks(String query, TriggerCost own) {
    Load known = loads.get(query);
    return known != null
        && own.busy(traffic.get()) <= new TriggerCost(known.triggers()).busy(traffic.get());
  }

  /** Returns a refusal as an error in a query's text, at its PROCESS. */
  static QueryError error(String text, String refusal) {
    int process = Math.max(0, text.toUpperCase(Locale.ROOT).lastIndexOf(PROCESS));
    String before = text.substring(0, process);
    int line = 1 + (int) before.chars().filter(c -> c == '\n').count();
    int column = 1 + before.codePointCount(before.lastIndexOf('\n') + 1, before.length());
    return new QueryError(
        QueryError.Code.TOO_LARGE, line, column, PROCESS.length(), refusal, EXPECTED, "");
  }
}
