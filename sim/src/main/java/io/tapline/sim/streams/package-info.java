/**
 * Benchmarks of the stream job: comparisons with other jobs, and experiments that reproduce the
 * papers' figures on streams.
 */
package io.tapline.sim.streams;
