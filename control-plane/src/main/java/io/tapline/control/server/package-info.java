/** The control plane as a server: its wiring, and how it takes the lead among several. */
package io.tapline.control.server;
