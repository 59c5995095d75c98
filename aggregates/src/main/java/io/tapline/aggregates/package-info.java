/**
 * Aggregates, with which processors summarize the values of a group: {@link
 * io.tapline.aggregates.MergeableAggregate} is the interface; each subpackage has the aggregates of
 * one kind.
 */
package io.tapline.aggregates;
