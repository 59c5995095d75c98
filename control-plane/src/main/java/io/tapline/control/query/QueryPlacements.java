package io.tapline.control.query;

import io.tapline.compiler.network.Network;
import io.tapline.compiler.network.NetworkPlan;
import io.tapline.compiler.network.NetworkState;
import io.tapline.compiler.rules.TooManyRules;
import io.tapline.placement.PlacementException;
import io.tapline.schema.proto.Match;
import io.tapline.sdn.mirror.MirrorState;
import io.tapline.sdn.mirror.NetworkAdapter;
import java.io.IOException;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What running queries need of the inventory's network: processes, mirror tables; and the network
 * itself, if there is a way to tell its switches. Thread-safe.
 */
final class QueryPlacements {
  private static final Logger LOG = LoggerFactory.getLogger(QueryPlacements.class);

  private NetworkState state;
  private NetworkAdapter adapter;

  /** Of this network; without one nothing is ever placed. */
  QueryPlacements(Optional<Network> network) {
    state = network.map(NetworkState::empty).orElse(null);
  }

  /**
   * What came of a query.
   *
   * @param plan empty if there is no network, or no place in it
   * @param refusal why there is no place; empty otherwise
   */
  record Outcome(Optional<NetworkPlan> plan, String refusal) {
    static final Outcome NOTHING = new Outcome(Optional.empty(), "");
  }

  /** What would come of a query beside those that run. */
  synchronized Outcome tried(String query, Match match) {
    NetworkState before = state;
    Outcome outcome = add(query, match);
    state = before;
    return outcome;
  }

  /** Makes room for a query, which stays until it is removed. */
  synchronized Outcome add(String query, Match match) {
    if (state == null) {
      return Outcome.NOTHING;
    }
    try {
      state = state.add(query, match).after();
      return new Outcome(Optional.of(state.plan(query)), "");
    } catch (PlacementException | TooManyRules e) {
      return new Outcome(
          Optional.empty(), "not placed in the inventory's network: " + e.getMessage());
    }
  }

  /** Nothing happens if it was not added. */
  synchronized void remove(String query) {
    if (state != null && state.queries().contains(query)) {
      state = state.remove(query).after();
      mirror();
    }
  }

  /** From now on this network's switches mirror what queries want. */
  synchronized void mirrorThrough(NetworkAdapter network) {
    adapter = network;
    mirror();
  }

  /** Tells the switches, after queries were added. */
  synchronized void mirror() {
    if (state == null || adapter == null) {
      return;
    }
    try {
      adapter.mirror(new MirrorState(state.tables(), state.monitorHosts()));
    } catch (IOException | RuntimeException e) {
      LOG.error("the network can't be told what to mirror", e);
    }
  }

  /** A query that was added, beside all that run now. */
  synchronized Optional<NetworkPlan> find(String query) {
    return state != null && state.queries().contains(query)
        ? Optional.of(state.plan(query))
        : Optional.empty();
  }
}
