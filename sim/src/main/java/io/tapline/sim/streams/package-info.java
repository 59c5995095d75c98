/**
 * The stream job under load: comparisons with other jobs, and the papers' figures about streams.
 */
package io.tapline.sim.streams;
