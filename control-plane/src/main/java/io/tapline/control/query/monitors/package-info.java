/**
 * The monitors that capture packets for queries: processes of this host, and monitors that agents
 * run on other hosts, between which a query's parts can move.
 */
package io.tapline.control.query.monitors;
