/**
 * The hosts' agents (schema/agent.proto): their leases, their clocks, and the queries that they
 * were assigned. In come leases and wishes of the query life cycle; out go commands and what became
 * of them; nobody here knows what a query is about.
 */
package io.tapline.control.registry;
