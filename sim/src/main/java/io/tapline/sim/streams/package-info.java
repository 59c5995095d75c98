/** Stream jobs under load: beside a textbook's, and the papers' figures of them. */
package io.tapline.sim.streams;
