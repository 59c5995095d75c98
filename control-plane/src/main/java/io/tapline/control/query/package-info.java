/**
 * The life of a query: compiled, its topic and job and monitor started, watched, ended and cleaned
 * up; and its results, read from Redis.
 */
package io.tapline.control.query;
