package io.tapline.control.query.monitors;

import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Queue;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** Chooses hosts for one query's parts. */
public interface PartPlacement {
  /** Returns the packets that each host counts; empty if each host counts all that it captures. */
  Optional<Map<String, Match>> current();

  /** Takes a host out of use and returns the new placement; changes nothing if no other is free. */
  Optional<Map<String, Match>> without(String host);

  /**
   * Lets another host measure the queues of a part whose host has disconnected.
   *
   * @param used the hosts of all parts of the query, which are not chosen
   * @return the queues with the new host, the same for all of them; empty if nothing changed
   *     because no other host can see both sides of every queue
   */
  Optional<List<Queue>> moveQueues(List<Queue> queues, Set<String> used);

  /**
   * Narrows the mirroring to far ports with this number of zero bits. Returns false and changes
   * nothing if switches can't do that or can't confirm it.
   */
  boolean narrow(int zeros);

  /** Returns true if switches mirror what the query needs. */
  boolean isMirrored();

  /**
   * Completes within seconds, once the packets copied to these hosts until now have arrived or are
   * counted as lost.
   */
  CompletableFuture<Void> settled(Set<String> hosts);

  /** Stores the plans of the query's parts, before the agents receive new plans or grants. */
  void record(List<Plan> parts) throws IOException;
}
