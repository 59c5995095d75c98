/**
 * The interface between a controller and its switches' connections: messages, reports and limits.
 */
package io.tapline.sdn.switches;
