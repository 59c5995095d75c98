/**
 * Mirror rules as values: what queries want becomes few OpenFlow 1.3 flows of one table before
 * forwarding, and a change of it becomes steps of which each is safe.
 */
package io.tapline.compiler.rules;
