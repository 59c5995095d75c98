/**
 * Queries the hosts' MultiLog nodes on a snapshot that is atomic across all of them (Confluo,
 * NSDI'19 §4), and runs watches.
 */
package io.tapline.control.drill;
