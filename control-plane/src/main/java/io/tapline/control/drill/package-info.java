/**
 * Queries the MultiLog nodes of the hosts on a snapshot that is atomic over all of them (Confluo,
 * NSDI'19 §4).
 */
package io.tapline.control.drill;
