package io.tapline.control.drill;

import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.tapline.control.drill.DrillException.Kind;
import io.tapline.schema.rpc.DefineReply;
import io.tapline.schema.rpc.Definition;
import io.tapline.schema.rpc.RemoveRequest;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Installs watches on nodes, and removes them there. Thread-safe. */
final class WatchInstaller {
  private static final Logger LOG = LoggerFactory.getLogger(WatchInstaller.class);

  /** The result of installing a watch on a node. */
  enum InstallResult {
    /** The node lacks the watch; installation is retried when the node reconnects. */
    LATER,
    /** The node already had the complete watch. */
    BEFORE,
    /** The node has the watch from now on. */
    NOW
  }

  private final NodeTable nodes;
  private final NodeSelection reach;

  WatchInstaller(NodeTable nodes, NodeSelection reach) {
    this.nodes = nodes;
    this.reach = reach;
  }

  /**
   * Verifies that there are nodes for a watch.
   *
   * @throws DrillException if there are none, or the watch names unknown ones
   */
  void requireNodes(WatchSpec spec) throws DrillException {
    Map<String, NodeClient> known = reach.within(spec.scope(), nodes.all());
    for (String node : spec.nodes()) {
      if (!known.containsKey(node)) {
        throw new DrillException(
            Kind.NOT_FOUND, "there is no node " + node + "; known: " + known.keySet());
      }
    }
    if (known.isEmpty()) {
      throw DrillException.noNodes();
    }
  }

  /** Returns the nodes that have to evaluate a watch. */
  List<NodeClient> nodesOf(WatchSpec spec) {
    return nodes.all().values().stream().filter(node -> isOn(spec, node)).toList();
  }

  /** Returns true if the node has to evaluate the watch. */
  boolean isOn(WatchSpec spec, NodeClient node) {
    return !spec.run().inMonitor()
        && (spec.nodes().isEmpty() || spec.nodes().contains(node.name()))
        && !reach.within(spec.scope(), Map.of(node.name(), node)).isEmpty();
  }

  /**
   * Installs a watch, or the parts of it that the node lacks.
   *
   * @throws DrillException if the node rejects it
   */
  InstallResult install(NodeClient node, String name, WatchSpec spec) throws DrillException {
    InstallResult installed = InstallResult.BEFORE;
    for (Definition definition : spec.definitions(name, nodesOf(spec).size())) {
      try {
        ListenableFuture<DefineReply> reply = node.define(definition, Snapshots.TIMEOUT);
        Snapshots.result(reply);
        installed = InstallResult.NOW;
      } catch (StatusRuntimeException e) {
        Code code = e.getStatus().getCode();
        if (code == Code.INVALID_ARGUMENT || code == Code.RESOURCE_EXHAUSTED) {
          throw new DrillException(
              Kind.INVALID, "node " + node.name() + ": " + e.getStatus().getDescription());
        }
        if (code != Code.ALREADY_EXISTS) {
          return InstallResult.LATER;
        }
      }
    }
    return installed;
  }

  /** Installs a watch that other nodes have accepted; a node of another version may reject it. */
  InstallResult reinstall(NodeClient node, String name, WatchSpec spec) {
    try {
      return install(node, name, spec);
    } catch (DrillException e) {
      LOG.warn("watch {} is not installed: {}", name, e.getMessage());
      return InstallResult.LATER;
    }
  }

  /**
   * Updates the node's share of a threshold, which may have been computed for a different number of
   * nodes. Counts are kept.
   *
   * @param present the watches that the node already has
   */
  void shareAnew(NodeClient node, String name, WatchSpec spec, NodeWatches present) {
    if (spec.together()
        && !present.hasTrigger(name, spec.threshold().share(nodesOf(spec).size()))) {
      remove(node, RemoveRequest.newBuilder().setTrigger(name).build());
      reinstall(node, name, spec);
    }
  }

  /** Removes a watch from all nodes that answer. */
  void clear(String name) {
    nodes.all().values().forEach(node -> clear(node, name));
  }

  /** Removes a watch from a node, if the node answers. */
  void clear(NodeClient node, String name) {
    WatchSpec.removals(name).forEach(removal -> remove(node, removal));
  }

  private static void remove(NodeClient node, RemoveRequest request) {
    try {
      Snapshots.result(node.remove(request, Snapshots.TIMEOUT));
    } catch (StatusRuntimeException e) {
      // The node has no such watch, or will be updated when it reconnects.
    }
  }
}
