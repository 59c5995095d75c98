package io.tapline.matrix;

/**
 * The objects of the probes. @param leader the leading control plane, the only one that serves
 * hosts and switches
 *
 * @param own a running query that the monitor and the job serve
 * @param other one of another tenant, served by another job
 * @param ownAlerts topic of the own query's trigger
 * @param otherAlerts topic of the other's
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
