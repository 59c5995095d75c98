/**
 * The hosts' agents (schema/agent.proto): their leases, clocks and assignments. Grants leases to
 * agents and accepts requests from the query life cycle; sends commands and reports their outcome.
 * Does not interpret queries.
 */
package io.tapline.control.registry;
