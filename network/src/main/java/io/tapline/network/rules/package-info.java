/**
 * Mirror rules as values: turns the packets that queries want into a small number of OpenFlow 1.3
 * flows in a table that precedes forwarding, and turns changes into steps that are each safe.
 */
package io.tapline.network.rules;
