/** Flows of a switch as values, and the messages that turn some into others. */
package io.tapline.sdn.flow;
