/**
 * An OpenFlow controller: finds switches, links and hosts, forwards along trees, and mirrors. What
 * it decides are values; only {@code openflow} knows OpenFlow's library and Netty.
 */
package io.tapline.sdn;
