/**
 * The life of a query: it is compiled, its topic, job and monitor are started and watched, it ends
 * and is cleaned up; its results are read from Redis.
 */
package io.tapline.control.query;
