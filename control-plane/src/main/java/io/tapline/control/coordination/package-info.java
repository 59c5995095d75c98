/**
 * Several control planes as one, through ZooKeeper: which leads, and what the next one has to know
 * of queries. In come leases on leadership and records of queries; out goes who leads; nobody here
 * knows what a query is about.
 */
package io.tapline.control.coordination;
