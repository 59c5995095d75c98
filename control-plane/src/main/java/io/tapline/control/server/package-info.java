/** The control plane as a server: its wiring, and its part in leader election. */
package io.tapline.control.server;
