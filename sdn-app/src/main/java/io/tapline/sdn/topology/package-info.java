/**
 * The state of a network: links discovered by LLDP, hosts by ARP. This package sends nothing
 * itself.
 */
package io.tapline.sdn.topology;
