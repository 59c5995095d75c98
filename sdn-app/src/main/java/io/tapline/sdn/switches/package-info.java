/**
 * The interface between a controller and its switches' connections: what a connection can send and
 * report, and its limits.
 */
package io.tapline.sdn.switches;
