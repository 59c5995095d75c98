/**
 * HTTP requests come in, JSON, problem documents and server-sent events go out. Everything is asked
 * of {@link io.tapline.control.query.QueryService}: nothing here talks to Redis, Kafka or Flink
 * itself.
 *
 * <p>{@link io.tapline.control.rest.Route} is the one table of operations: handlers, the 405
 * answers and the OpenAPI document are made of it.
 */
package io.tapline.control.rest;
