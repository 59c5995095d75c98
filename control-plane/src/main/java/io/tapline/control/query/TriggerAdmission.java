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
 * queries together, or if those of a tenant would exceed its quota. The costs depend on the traffic
 * that the inventory states; without it, nothing is refused. Thread-safe.
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

  /** Returns the tenant of a query. */
  static String tenant(String query) {
    return query.substring(0, query.indexOf('-'));
  }

  /**
   * Sets the triggers of a query.
   *
   * @param core maximum share of a core for the triggers of the query's tenant
   * @return the reason why they are refused, in which case those of before remain; empty if they
   *     are not
   */
  synchronized String put(
      String query, Set<String> hosts, List<PacketTrigger> triggers, double core) {
    for (String host : triggers.isEmpty() ? Set.<String>of() : hosts) {
      String refusal = traffic.map(known -> refusal(host, query, triggers, core, known)).orElse("");
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

  private String refusal(
      String host,
      String query,
      List<PacketTrigger> triggers,
      double core,
      TriggerCost.Traffic expected) {
    TriggerCost own = new TriggerCost(triggers);
    List<TriggerCost> others = others(host, query, "");
    double busy = together(own, others, expected);
    double tenantBusy =
        together(own, others(host, query, tenant(query)), expected) - TriggerCost.parsing(expected);
    if (shrinks(query, own, expected)) {
      return "";
    } else if (tenantBusy > core) {
      return "%s. With all triggers of tenant %s on %s, that is %.0f %% beside parsing, and the tenant's quota is %.0f %%"
          .formatted(own.at(expected), tenant(query), host, tenantBusy * 100, core * 100);
    } else if (busy > TriggerCost.MAX_BUSY) {
      return "the monitor on %s has no time for these triggers: %s. Triggers of other queries take %.0f %% there, and all together would take %.0f %%"
          .formatted(
              host, own.at(expected), TriggerCost.together(others, expected) * 100, busy * 100);
    }
    return "";
  }

  private static double together(
      TriggerCost own, List<TriggerCost> others, TriggerCost.Traffic expected) {
    List<TriggerCost> all = new ArrayList<>(others);
    all.add(own);
    return TriggerCost.together(all, expected);
  }

  /**
   * Returns the costs of the other queries on a host.
   *
   * @param tenant the tenant whose queries are wanted; empty for all
   */
  private List<TriggerCost> others(String host, String query, String tenant) {
    List<TriggerCost> others = new ArrayList<>();
    loads.forEach(
        (id, other) -> {
          boolean isWanted = tenant.isEmpty() || tenant.equals(tenant(id));
          if (isWanted && !id.equals(query) && other.hosts().contains(host)) {
            others.add(new TriggerCost(other.triggers()));
          }
        });
    return others;
  }

  /** Returns true if the query's triggers do not cost more than those that it has. */
  private boolean shrinks(String query, TriggerCost own, TriggerCost.Traffic expected) {
    Load known = loads.get(query);
    return known != null && own.busy(expected) <= new TriggerCost(known.triggers()).busy(expected);
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
