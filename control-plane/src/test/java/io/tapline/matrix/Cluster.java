package io.tapline.matrix;

/**
 * The parts of a running cluster that the probes try to access.
 *
 * @param leader the leading control plane, the only one that serves hosts and switches
 * @param own a running query of the probed monitor and job
 * @param other a running query of another tenant, with another job
 * @param ownAlerts alert topic of the trigger of {@code own}
 * @param otherAlerts alert topic of the trigger of {@code other}
 * @param monitor host of the monitor whose certificate is tried
 * @param multilog host of the MultiLog node
 */
record Cluster(
    String leader,
    String own,
    String other,
    String ownAlerts,
    String otherAlerts,
    String monitor,
    String multilog) {}
