/** What the compiler and placement cost, by JMH. */
package io.tapline.sim.bench;
