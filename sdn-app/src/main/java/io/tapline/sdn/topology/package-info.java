/** The state of a network: links discovered by LLDP, hosts by ARP. Nothing here sends. */
package io.tapline.sdn.topology;
