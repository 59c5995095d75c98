/** JMH benchmarks of the compiler and of placement. */
package io.tapline.sim.bench;
