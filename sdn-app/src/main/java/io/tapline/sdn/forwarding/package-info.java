/** Computes the ports that lead to each host, as flows, and the order in which flows change. */
package io.tapline.sdn.forwarding;
