/**
 * Aggregates, with which processors summarize the values of a group. {@link
 * io.tapline.aggregates.MergeableAggregate} is their interface; each subpackage contains the
 * aggregates of one kind.
 */
package io.tapline.aggregates;
