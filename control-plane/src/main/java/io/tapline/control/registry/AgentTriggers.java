package io.tapline.control.registry;

import io.tapline.schema.rpc.AgentHello;
import io.tapline.schema.rpc.Assignment;
import io.tapline.schema.rpc.MonitorStatus;
import io.tapline.schema.rpc.TriggersCommand;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The triggers of the queries on one host: the wanted ones and those that are installed. A host
 * whose triggers are uncertain receives all of them; otherwise it receives only changes. Confined
 * to the registry's thread.
 */
final class AgentTriggers {
  /**
   * The triggers of a query.
   *
   * @param has triggers that the host has once it has executed all commands; null if unknown
   * @param repeated true if the complete version was sent because the host refused the changes
   */
  private record WantedTriggers(TriggerSet set, TriggerSet has, boolean repeated) {}

  private final Map<String, WantedTriggers> wanted = new HashMap<>();

  /** Sets the triggers of a query, and returns the commands for a host with a lease. */
  List<TriggersCommand> set(String query, int epoch, TriggerSet set) {
    WantedTriggers before = wanted.get(query);
    wanted.put(query, new WantedTriggers(set, set, false));
    return before == null || before.has() == null
        ? set.all(query, epoch)
        : set.since(before.has(), query, epoch);
  }

  /** Handles the end of the host's lease, after which messages may not reach the host. */
  void disconnected() {
    wanted.replaceAll((query, known) -> new WantedTriggers(known.set(), null, false));
  }

  /** Records the versions that a host has when it takes a lease. */
  void connected(AgentHello hello) {
    disconnected();
    for (Assignment assignment : hello.getAssignmentsList()) {
      wanted.computeIfPresent(
          assignment.getQuery(),
          (query, known) ->
              known.set().version() == assignment.getTriggersVersion()
                  ? new WantedTriggers(known.set(), known.set(), false)
                  : known);
    }
  }

  /**
   * Returns the commands that set a query's triggers on a host that may lack them; none if the host
   * has them.
   */
  List<TriggersCommand> missing(String query, int epoch) {
    WantedTriggers known = wanted.get(query);
    return known == null || known.has() != null ? List.of() : set(query, epoch, known.set());
  }

  /**
   * Returns the commands after a refusal: all triggers, once, if the triggers themselves did not
   * cause it; otherwise none, since the owner of the query has to decide.
   */
  List<TriggersCommand> refused(int epoch, MonitorStatus.Triggers answer) {
    WantedTriggers known = wanted.get(answer.getQuery());
    if (known == null || known.set().version() != answer.getVersion()) {
      return List.of();
    }
    boolean repeat = !answer.getKind().equals("user") && !known.repeated();
    wanted.put(
        answer.getQuery(), new WantedTriggers(known.set(), repeat ? known.set() : null, true));
    return repeat ? known.set().all(answer.getQuery(), epoch) : List.of();
  }

  void forget(String query) {
    wanted.remove(query);
  }
}
