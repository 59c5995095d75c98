/**
 * Checks the servers that a command names, before anything is started for them: they must be up and
 * of the expected kind. Never changes anything on them.
 */
package io.tapline.control.probe;
