/**
 * An OpenFlow controller: discovers switches, links and hosts, forwards along trees, and mirrors.
 * Its decisions are plain values; only {@code openflow} depends on the OpenFlow library and Netty.
 */
package io.tapline.sdn;
