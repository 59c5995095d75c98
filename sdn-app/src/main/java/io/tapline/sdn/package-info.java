/**
 * An OpenFlow controller: discovers switches, links and hosts, forwards along trees, and mirrors.
 * Its decisions are values; only {@code openflow} knows OpenFlow's library and Netty.
 */
package io.tapline.sdn;
