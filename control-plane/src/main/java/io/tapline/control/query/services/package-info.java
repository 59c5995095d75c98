/**
 * The services that a query runs on: topics in Kafka with their rights, job clusters, users in
 * Redis; where a job and its topic are placed, and how healthy the services are.
 */
package io.tapline.control.query.services;
