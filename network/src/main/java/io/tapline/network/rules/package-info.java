/**
 * Mirror rules as values: turns the packets that queries want into few OpenFlow 1.3 flows of one
 * table before forwarding, and changes into steps each of which is safe.
 */
package io.tapline.network.rules;
