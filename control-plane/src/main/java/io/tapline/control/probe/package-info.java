/**
 * Checks the servers that a command names, before anything is started for them: they must be up and
 * be what they should be. Never changes anything on them.
 */
package io.tapline.control.probe;
