/**
 * Runs plans as jobs on an existing Flink session cluster and reports how they ended; never starts
 * or stops a cluster.
 */
package io.tapline.control.flink;
