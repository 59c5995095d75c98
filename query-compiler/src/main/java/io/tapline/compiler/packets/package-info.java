/**
 * Triggers that the monitor tests: on packets, with their conditions, groups and cost, and on
 * tuples.
 */
package io.tapline.compiler.packets;
