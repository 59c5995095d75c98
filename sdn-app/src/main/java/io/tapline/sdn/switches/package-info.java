/**
 * The interface between a controller and the connections of its switches: what a connection can
 * send, what it reports, and the limits that it keeps.
 */
package io.tapline.sdn.switches;
