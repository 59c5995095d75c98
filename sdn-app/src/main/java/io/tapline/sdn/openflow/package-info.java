/**
 * OpenFlow on the wire: connections, versions, limits. The only package that knows OpenFlowJ-Loxi
 * and Netty; all of it runs on one event loop.
 */
package io.tapline.sdn.openflow;
