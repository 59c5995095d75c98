/**
 * Coordinates several control planes through ZooKeeper: elects the leader and stores the records
 * from which the next leader resumes queries and watches. A single control plane keeps its watches
 * in a file. This package does not interpret queries or watches.
 */
package io.tapline.control.coordination;
