/**
 * Runs plans as jobs on an existing Flink session cluster and reports their ends; never starts or
 * stops a cluster.
 */
package io.tapline.control.flink;
