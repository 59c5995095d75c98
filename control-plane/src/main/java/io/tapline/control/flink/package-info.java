/**
 * Takes plans and job IDs, runs them on a Flink session cluster that somebody else started, and
 * says how they ended; never starts or stops a cluster.
 */
package io.tapline.control.flink;
