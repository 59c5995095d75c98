/** The control plane as a server: its wiring, and its part in the election among several. */
package io.tapline.control.server;
