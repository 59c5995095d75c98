package io.tapline.control.query.monitors;

import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** The placement of one query's parts in the network, as its monitors need it. */
public interface PartPlacement {
  /** Returns what each host is to count; empty if each host counts all that it sees. */
  Optional<Map<String, Match>> current();

  /** Returns the same without a host from now on; changes nothing if there is no other. */
  Optional<Map<String, Match>> without(String host);

  /**
   * Narrows the mirroring to far ports with this number of zero bits. Returns false and changes
   * nothing if switches can't do that or can't confirm it.
   */
  boolean narrow(int zeros);

  /** Returns true if switches mirror what the query needs. */
  boolean isMirrored();

  /**
   * Completes soon: once the packets copied to these hosts until now have arrived or are accounted
   * for.
   */
  CompletableFuture<Void> settled(Set<String> hosts);

  /** Records the new hosts of parts before the agents are notified. */
  void record(List<Plan> parts) throws IOException;
}
