/**
 * Checks that the servers named in a command are running and of the expected kind, before anything
 * is started that uses them. Never changes anything on them.
 */
package io.tapline.control.probe;
