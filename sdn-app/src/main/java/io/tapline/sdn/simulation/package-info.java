/**
 * Simulated switches that store flows and respond but forward no packets, for benchmarks and tests.
 */
package io.tapline.sdn.simulation;
