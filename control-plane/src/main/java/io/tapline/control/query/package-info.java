/**
 * The life cycle of a query: it is compiled, its topic, job and monitors are started and watched,
 * it ends and is cleaned up. Its results are read from Redis.
 */
package io.tapline.control.query;
