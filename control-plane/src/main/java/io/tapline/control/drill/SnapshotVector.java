package io.tapline.control.drill;

import io.tapline.schema.rpc.Tails;
import java.util.Map;

/**
 * A consistent state of several nodes: if it contains an effect, it also contains the cause.
 *
 * @param tails tails by node, in the order of the nodes
 * @param missing nodes that could not be frozen, with the reason
 * @param leftOut nodes that did not have to be frozen, with the reason
 */
record SnapshotVector(
    Map<NodeClient, Tails> tails, Map<String, String> missing, Map<String, String> leftOut) {}
