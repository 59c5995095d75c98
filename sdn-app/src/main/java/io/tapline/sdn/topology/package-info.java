/** What is known of a network: links heard of by LLDP, hosts by ARP. Nothing here sends. */
package io.tapline.sdn.topology;
