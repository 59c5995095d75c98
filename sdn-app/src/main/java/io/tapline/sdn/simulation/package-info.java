/** Switches without packets: they store flows and answer, for benchmarks and tests. */
package io.tapline.sdn.simulation;
