/**
 * The hosts' agents (schema/agent.proto): their leases, clocks and assignments. Takes leases from
 * agents and requests from the query life cycle; sends commands and reports their outcome. Knows
 * nothing about the effect of a query.
 */
package io.tapline.control.registry;
