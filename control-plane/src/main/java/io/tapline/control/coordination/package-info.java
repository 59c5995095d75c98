/**
 * Coordinates several control planes through ZooKeeper: elects the leader and stores what the next
 * one has to know of queries. Knows nothing about what a query does.
 */
package io.tapline.control.coordination;
