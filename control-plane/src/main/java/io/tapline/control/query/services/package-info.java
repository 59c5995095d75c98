/**
 * The services that a query runs on: topics in Kafka with their rights, job clusters, users in
 * Redis; the placement of a job and its topic, and the health of the services.
 */
package io.tapline.control.query.services;
