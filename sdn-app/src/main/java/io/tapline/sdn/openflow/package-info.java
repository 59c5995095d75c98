/**
 * OpenFlow on the wire: connections, versions, limits. Only this package depends on OpenFlowJ-Loxi
 * and Netty; all of it runs on one event loop.
 */
package io.tapline.sdn.openflow;
