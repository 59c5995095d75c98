/** Stream jobs under load: compared with a textbook's job, and the papers' figures about them. */
package io.tapline.sim.streams;
