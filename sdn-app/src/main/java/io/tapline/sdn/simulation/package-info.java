/** Switches without packets: they hold flows and answer, for benchmarks and tests. */
package io.tapline.sdn.simulation;
