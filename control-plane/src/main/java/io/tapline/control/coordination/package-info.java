/**
 * Coordinates several control planes through ZooKeeper: elects the leader and stores the records
 * from which the next one resumes queries. Knows nothing about the effect of a query.
 */
package io.tapline.control.coordination;
