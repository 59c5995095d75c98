/**
 * The life cycle of a query: compiling it, starting and watching its topic, job and monitors,
 * ending it, and cleaning up. Also reads queries' results from Redis.
 */
package io.tapline.control.query;
