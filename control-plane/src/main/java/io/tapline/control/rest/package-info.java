/**
 * Serves HTTP requests with JSON, problem documents and server-sent events. All work is delegated
 * to {@link io.tapline.control.query.QueryService}: nothing here talks to Redis, Kafka or Flink
 * itself.
 *
 * <p>{@link io.tapline.control.rest.Route} is the one table of operations: handlers, the 405
 * responses and the OpenAPI document are derived from it.
 */
package io.tapline.control.rest;
