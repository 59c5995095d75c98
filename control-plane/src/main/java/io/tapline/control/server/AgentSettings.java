package io.tapline.control.server;

import io.tapline.control.HashKeys;
import io.tapline.control.query.QueryService;
import io.tapline.control.registry.AgentAccess;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.LeaseListener;
import io.tapline.control.registry.RegistryOptions;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * Settings for agents, whose monitors a control plane uses.
 *
 * @param address address on which the registry listens for agents
 * @param access decides which agents may have leases
 * @param grace time that assignments wait for a disconnected agent to return
 */
public record AgentSettings(InetSocketAddress address, AgentAccess access, Duration grace) {
  /** Returns the registry of agents, which does not listen yet. */
  AgentRegistry registry(QueryService queries, HashKeys keys, LeaseListener listener) {
    return AgentRegistry.of(
        RegistryOptions.usual(address, queries.hostBrokers())
            .withGrace(grace)
            .withLogins(queries::hostLogin)
            .withHashKeys(keys),
        access,
        listener);
  }
}
