/**
 * A network as immutable values: switches, links, hosts and the cheapest paths between them. No
 * I/O.
 */
package io.tapline.network;
