/** Computes the flows that lead to each host, and the order in which switches change them. */
package io.tapline.sdn.forwarding;
