/**
 * Asks the servers that a command names, before anything is started for them: whether they are
 * there and what they should be. Never changes anything at them.
 */
package io.tapline.control.probe;
