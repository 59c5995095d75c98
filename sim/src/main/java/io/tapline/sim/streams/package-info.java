/**
 * The stream job under load: comparisons with a textbook job, and the figures of the papers about
 * it.
 */
package io.tapline.sim.streams;
