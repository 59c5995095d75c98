/** Flows of a switch as values, and the messages that lead from some to others. */
package io.tapline.sdn.flow;
