/**
 * The services that a query runs on: Kafka topics with their ACLs, job clusters and Redis users.
 * Also places jobs and topics, and checks the services' health.
 */
package io.tapline.control.query.services;
