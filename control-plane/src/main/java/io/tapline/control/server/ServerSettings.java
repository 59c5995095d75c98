package io.tapline.control.server;

import io.tapline.control.HashKeys;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.NodeAccess;
import io.tapline.control.drill.NodeAddress;
import io.tapline.control.embedded.EmbeddedOptions;
import io.tapline.control.embedded.LocalAgents;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.rest.RestOptions;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;

/**
 * The configuration of a control plane.
 *
 * @param pipeline options of the pipeline that runs queries
 * @param hashKeys hash keys; empty if the control plane chooses them
 * @param files capture files that queries read; empty for none
 * @param agents agents, of other hosts or of this one, whose monitors capture; empty if none are
 *     accepted
 * @param local the agents of this host's interface, which the control plane starts itself; empty
 *     for none
 * @param switches the switches that it controls; empty for none
 * @param nodes the hosts' MultiLog nodes
 * @param rest the REST server
 * @param url returns the URL of the REST server on a port
 */
public record ServerSettings(
    EmbeddedOptions pipeline,
    Optional<HashKeys> hashKeys,
    Optional<Source> files,
    Optional<AgentSettings> agents,
    Optional<LocalAgents.Settings> local,
    Optional<SwitchSettings> switches,
    Nodes nodes,
    RestOptions rest,
    IntFunction<String> url) {
  /**
   * The hosts' MultiLog nodes.
   *
   * @param known nodes that are known without agents
   * @param access options for connections to the nodes
   * @param watches file that stores their watches; empty if watches end with the server, or are
   *     stored in ZooKeeper for several control planes
   */
  public record Nodes(List<NodeAddress> known, NodeAccess access, Optional<Path> watches) {
    /**
     * Verifies that connections to the nodes are allowed.
     *
     * @throws IllegalArgumentException with a user-facing message
     */
    public Nodes {
      access.check(known);
    }
  }

  /** Connects to the nodes. Their watches stay unchanged until the service leads. */
  DrillService drill() {
    return DrillService.following(
        nodes.known(), pipeline.inventory()::addresses, nodes.access(), rest.tokens());
  }
}
