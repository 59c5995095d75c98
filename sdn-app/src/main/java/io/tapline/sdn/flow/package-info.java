/** Flows of a switch as values, and the messages that turn one set of flows into another. */
package io.tapline.sdn.flow;
