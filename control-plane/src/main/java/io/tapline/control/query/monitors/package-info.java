/**
 * The monitors that capture packets for queries: processes of this host, and those that agents run
 * on others, whose parts can move.
 */
package io.tapline.control.query.monitors;
